// The message of a page with conversations, key by key, without a browser: node keys.mjs RUNTIME
// page_talk.js runs on a document of a few lines.  A key event is sent as browsers send it; what it does is what it calls.
import fs from 'node:fs';
import vm from 'node:vm';

const runtime = process.argv[2];
let failed = false, sent = 0, ready;
const verdict = (name, good, said) => {
  console.log(`${good ? 'ok' : 'FAIL'} page keys: ${name}${good ? '' : `: ${said}`}`);
  failed ||= !good;
};

const byId = new Map();
const element = () => ({ append() {}, after() {}, focus() {}, replaceChildren() {}, requestSubmit() { sent++; } });
const $ = id => byId.get(id) ?? byId.set(id, element()).get(id);
const context = vm.createContext({ $, startPage: go => { ready = go; }, startButtons: () => {}, samplingOf: () => () => ({}), state: () => {} });
vm.runInContext(fs.readFileSync(`${runtime}/page_talk.js`, 'utf8'), context, { filename: 'page_talk.js' });
ready({ ask: () => {}, stop: () => {}, config: { context: 8, name: 'm' } });

// Whether the key sends the message, and whether it is kept from the text field, which else makes a new line of it or ends a composition.
const press = keys => {
  let kept = 0;
  sent = 0;
  $('prompt').onkeydown({ key: 'Enter', code: 'Enter', shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, isComposing: false, preventDefault() { kept++; }, ...keys });
  return `${sent} sent, ${kept} kept`;
};
const expected = (name, wanted, keys) => {
  const found = press(keys);
  verdict(name, found === wanted, found);
};
expected('Enter sends', '1 sent, 1 kept', {});
expected('Enter of a numeric keypad sends', '1 sent, 1 kept', { code: 'NumpadEnter' });
expected('Shift and Enter is a new line', '0 sent, 0 kept', { shiftKey: true });
expected('Enter that ends a composition is of the input method', '0 sent, 0 kept', { isComposing: true });
expected('... with Shift, too', '0 sent, 0 kept', { isComposing: true, shiftKey: true });
for (const key of ['a', 'か', ' ', 'Tab', 'Escape', 'Backspace', 'ArrowDown', 'Process', 'Unidentified', 'Dead'])
  for (const isComposing of [false, true]) expected(`${key === ' ' ? 'a space' : key}${isComposing ? ' in a composition' : ''} is of the text`, '0 sent, 0 kept', { key, code: key, isComposing });
process.exit(failed ? 1 : 0);
