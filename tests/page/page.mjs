// What a page says without a browser: node page.mjs PAGE.html '{"prompt": "Nora was", ..}' [PICTURE.ppm]
// Prints the module that it took, and what its engine makes of it, a line of JSON.
import fs from 'node:fs';

const [file, asked, picture] = process.argv.slice(2), html = fs.readFileSync(file, 'utf8');
const element = id => html.match(new RegExp(`<script [^>]*id="${id}">([^<]*)</script>`))[1];
const engine = html.match(/<script type="text\/plain" id="engine">([^]*?)<\/script>/)[1];
const { openModel, loops } = new Function(`${engine}; return { openModel, loops };`)();
const bytes = id => new Uint8Array(Buffer.from(element(id), 'base64'));
const { loop } = JSON.parse(element('config')), ask = JSON.parse(asked);
if (picture) {
  const all = fs.readFileSync(picture), [head, kind, width, height] = all.toString('latin1').match(/^(P[56])\s+(\d+)\s+(\d+)\s+255\s/);
  Object.assign(ask, { width: +width, height: +height, channels: kind === 'P6' ? 3 : 1, pixels: new Uint8Array(all.subarray(head.length)) });
}
const model = await openModel({ relaxed: bytes('relaxed'), exact: bytes('exact'), weights: bytes('weights') });
let text = '', parts = 0;
const made = await loops[loop](model, ask, part => {
  parts++;
  if (typeof part === 'string') text += part;
}, () => false);
delete made.picture;
console.log(JSON.stringify({ variant: model.variant, text, parts, ...made }));
process.exit(0);
