// The attention that a page shows, without a browser: node attention.mjs PAGE.html PROMPT < EVAL
// EVAL is what `lathe eval -p PROMPT --tap .. --json` says of all layers.  Prints what differs, and "equal N" numbers at the end.
import fs from 'node:fs';
import { open } from './engine.mjs';

const [file, prompt] = process.argv.slice(2), wanted = Object.values(JSON.parse(fs.readFileSync(0, 'utf8')))[0];
const { config: { layers, heads }, model, loops } = await open(file);
const never = () => false, ask = { prompt, steps: 40, temperature: 0.8, top: 1, seed: '7' };
let text = '', equal = 0;
const wrong = what => {
  console.log(what);
  process.exit(1);
};
const { hash } = await loops.generate(model, ask, part => { text += part; }, never);
const { texts, given } = await loops.tokens(model);
if (texts.join('').trim() !== (prompt + text).trim()) wrong(`the tokens are of another text: ${texts.join('')}`);
if (layers !== wanted.length || heads !== wanted[0].length || given !== wanted[0][0].length) wrong(`${layers} layers, ${heads} heads, ${given} tokens`);

// from where the text ended, forwards, backwards, and tokens that the model made; of one token the same whenever it is asked for, another of its piece before it too
const seen = new Map();
for (const at of [texts.length - 1, given - 1, 0, 17, texts.length - 1, 3, 33, given - 1, texts.length - 2]) {
  const { first, rows, weights } = await loops.attention(model, { at, maps: layers * heads }, never, never);
  if (at < first || at >= first + rows) wrong(`token ${at} is not among ${rows} from ${first} on`);
  const all = String(weights), once = !seen.has(at);
  if ((seen.get(at) ?? all) !== all) wrong(`token ${at}: other weights than before`);
  seen.set(at, all);
  for (let l = 0; l < layers; l++)
    for (let h = 0; h < heads; h++) {
      const row = ((l * heads + h) * rows + at - first) * (first + rows);
      let sum = 0;
      for (let i = 0; i <= at; i++) {
        sum += weights[row + i];
        if (at < given && weights[row + i] !== Math.fround(wanted[l][h][at][i])) wrong(`layer ${l} head ${h} token ${at} key ${i}: ${weights[row + i]}, not ${wanted[l][h][at][i]}`);
        equal += once && at < given;
      }
      if (Math.abs(sum - 1) > 1e-5) wrong(`layer ${l} head ${h} token ${at}: the sum is ${sum}`);
    }
}
if ((await loops.generate(model, ask, never, never)).hash !== hash) wrong('the hash is another one after attention was asked for');
console.log(`equal ${equal}`);
process.exit(0);
