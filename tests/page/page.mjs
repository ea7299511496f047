// What a page says without a browser: node page.mjs PAGE.html '{"prompt": "Nora was", ..}' [PICTURE.ppm|SOUND.wav]
// Prints the module that it took, and what its engine makes of it, a line of JSON.
import fs from 'node:fs';
import { open } from './engine.mjs';

const [file, asked, medium] = process.argv.slice(2), ask = JSON.parse(asked), { config, model, loops } = await open(file);
if (medium?.endsWith('.wav')) await loops.sound(model, { file: fs.readFileSync(medium) });
else if (medium) {
  const all = fs.readFileSync(medium), [head, kind, width, height] = all.toString('latin1').match(/^(P[56])\s+(\d+)\s+(\d+)\s+255\s/);
  Object.assign(ask, { width: +width, height: +height, channels: kind === 'P6' ? 3 : 1, pixels: new Uint8Array(all.subarray(head.length)) });
}
let text = '', parts = 0;
const made = await loops[config.kind](model, ask, part => {
  parts++;
  if (typeof part === 'string') text += part;
}, () => false);
delete made.picture;
console.log(JSON.stringify({ variant: model.variant, text, parts, ...made }));
process.exit(0);
