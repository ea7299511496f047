// A page's conversation without a browser: node talk.mjs PAGE.html '{"turns": ["Hello?"], "system": null, "steps": 12, "temperature": 0, "seed": "1"}'
// Prints of each turn the answer and, on a line of its own, its hash, as other programs do with --hash; a refusal in place of both.
import { open } from './engine.mjs';

const [file, asked] = process.argv.slice(2), { turns, system = null, seed = '1', top = 1, ...how } = JSON.parse(asked);
const { config: { context }, model, loops } = await open(file), never = () => false;
let fresh = { system, seed };
for (const text of turns) {
  let answer = '';
  try {
    const { hash } = await loops.talk(model, { fresh, text, top, context, ...how }, part => { answer += part; }, never);
    console.log(`${answer}\nhash ${hash}`);
  } catch (e) {
    console.log(e.message);
  }
  fresh = null;
}
process.exit(0);
