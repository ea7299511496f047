// The engine of a page without a browser: open(PAGE.html) gives its settings, the model's functions, and what a page asks of them.
import fs from 'node:fs';

export async function open(file) {
  const html = fs.readFileSync(file, 'utf8');
  const element = id => html.match(new RegExp(`<script [^>]*id="${id}">([^<]*)</script>`))[1];
  const engine = html.match(/<script type="text\/plain" id="engine">([^]*?)<\/script>/)[1];
  const { openModel, warm, loops } = new Function(`${engine}; return { openModel, warm, loops };`)();
  const bytes = id => new Uint8Array(Buffer.from(element(id), 'base64'));
  const model = await openModel({ relaxed: bytes('relaxed'), exact: bytes('exact'), weights: bytes('weights') });
  if (warm(model) === 0) throw new Error('no token is made at the start');
  return { config: JSON.parse(element('config')), model, loops };
}
