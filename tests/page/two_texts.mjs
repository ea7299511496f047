// Two texts on one page, without a browser: node two_texts.mjs RUNTIME
// page_attention.js and page_generate.js run on a document of a few lines; the engine's answers are given here.  Prints ok and FAIL lines.
import fs from 'node:fs';
import vm from 'node:vm';

const runtime = process.argv[2];
let failed = false;
const verdict = (name, good, said = '') => {
  console.log(`${good ? 'ok' : 'FAIL'} page two texts: ${name}${good ? '' : `: ${said}`}`);
  failed ||= !good;
};

// Elements hold text as text: what would take markup throws.
class Element {
  constructor() {
    Object.assign(this, { kids: [], dataset: {}, attributes: {}, hidden: false, value: 0, className: '', style: { setProperty: (k, v) => { this.attributes[k] = v; } } });
    this.classList = { toggle: (name, on) => { this.attributes[name] = on; } };
  }
  append(...kids) { this.kids.push(...kids); }
  replaceChildren(...kids) { this.kids = kids; }
  setAttribute(k, v) { this.attributes[k] = v; }
  get textContent() { return this.kids.map(k => typeof k === 'string' ? k : k.textContent).join(''); }
  set textContent(text) { this.kids = [String(text)]; }
  set innerHTML(_) { throw new Error('innerHTML is set'); }
  set outerHTML(_) { throw new Error('outerHTML is set'); }
  insertAdjacentHTML() { throw new Error('insertAdjacentHTML is called'); }
}
const byId = new Map(), $ = id => byId.get(id) ?? byId.set(id, new Element()).get(id);
$('attention').hidden = true;

// The first text, then the second: what the engine says of each, and what was asked of it.
const texts = [['<s>', '<b>one</b>', ' two', ' three'], ['<s>', 'four', ' five']];
let turn = -1, release, ready, run;
const asked = [], fault = e => verdict('no fault', false, e.stack);
const ask = async (kind, value, part) => {
  asked.push([turn, kind, value.at]);
  if (kind === 'generate') verdict('settings are passed to the model', value.temperature === 0.6 && value.top === 0.95 && value.k === 20, JSON.stringify(value));
  if (kind === 'generate') {
    for (const text of texts[turn].slice(1)) part(text);
    await new Promise(go => { release = go; });
    return { tokens: 1, rate: 1, first: 1, hash: 'x' };
  }
  if (kind === 'tokens') return { texts: texts[turn], given: 1 };
  // Pieces of two tokens, the last one shorter.  The first text looks at its token 1, but for head 0 of layer 1, at token 0; the second at itself.
  const first = value.at - value.at % 2, rows = Math.min(2, texts[turn].length - first), columns = first + rows, weights = new Float32Array(4 * rows * columns);
  for (let map = 0; map < 4; map++)
    for (let row = 0; row < rows; row++) weights[(map * rows + row) * columns + (turn ? first + row : map === 2 ? 0 : 1)] = 1;
  return { first, rows, weights };
};
const context = vm.createContext({
  $, document: { createElement: () => new Element() }, Option: class extends Element {}, state: () => {}, Map, Float64Array, Math,
  startPage: go => { ready = go; }, startButtons: (_, go) => { run = go; }, Object,
});
vm.runInContext(/^function samplingOf[^]*?\n}\n/m.exec(fs.readFileSync(`${runtime}/page_loader.js`, 'utf8'))[0], context);
for (const name of ['page_attention.js', 'page_generate.js']) vm.runInContext(fs.readFileSync(`${runtime}/${name}`, 'utf8'), context, { filename: name });
const sampling = { values: { temperature: 0.6, top: 0.95, k: 20 }, source: 'as in loop generate' }, fields = ['temperature', 'top', 'k', 'min', 'repetition'];
for (const id of fields) $(id).parentElement = { hidden: true };
ready({ ask, config: { layers: 2, heads: 2, context: 8, sampling }, fault });
verdict('settings of sampling are in the form', fields.map(id => `${$(id).value} ${$(id).parentElement.hidden}`).join() === '0.6 false,0.95 false,20 false,0 true,0 true',
  fields.map(id => `${$(id).value} ${$(id).parentElement.hidden}`));
verdict('... and their source', $('hint').textContent.endsWith(' Sampling: as in loop generate.'), $('hint').textContent);
$('layer').value = $('head').value = -1;

const settle = () => new Promise(go => setTimeout(go));
const point = async at => {
  $('text').onclick({ target: { dataset: { at } } });
  await settle();
};
const tell = async () => {
  turn++;
  const done = run(() => true);
  await settle();
  return async () => {
    release();
    await done;
    await settle();
  };
};

let end = await tell();
verdict('no attention while the first is made', $('attention').hidden);
await end();
verdict('the text of a model is text', $('text').textContent === '<s><b>one</b> two three', $('text').textContent);
verdict('attention after it', !$('attention').hidden);
await point(3);
verdict('what a token of it looks at', $('looked').textContent.startsWith('“three” looks at “<b>one</b>” 75.0 %, “<s>” 25.0 %'), $('looked').textContent);
[$('layer').value, $('head').value] = [1, 0];
$('head').onchange();
await settle();
verdict('... by one head', $('looked').textContent.startsWith('“three” looks at “<s>” 100.0 %'), $('looked').textContent);
await point(2);
verdict('... what another token looks at', $('looked').textContent.startsWith('“two” looks at “<s>” 100.0 %'), $('looked').textContent);
$('layer').value = $('head').value = -1;

end = await tell();
verdict('the attention of the text before is gone', $('attention').hidden, 'it is still shown');
const before = asked.length, looked = $('looked').textContent;
await point(3);
verdict('and is not asked for', asked.length === before && $('looked').textContent === looked, JSON.stringify(asked.slice(before)));
await end();
verdict('attention of the second', !$('attention').hidden && $('text').textContent === '<s>four five', $('text').textContent);
await point(2);
verdict('which is its own', $('looked').textContent.startsWith('“five” looks at “five” 100.0 %'), $('looked').textContent);
process.exit(failed ? 1 : 0);
