// The page's side: looks whether all of the file is there, starts the worker that runs the model, and says what it does.
'use strict';

const $ = id => document.getElementById(id);

class Fault extends Error {}

function state(text, bad) {
  $('state').textContent = text;
  $('state').className = bad ? 'bad' : '';
  $('state').setAttribute('role', bad ? 'alert' : 'status');
}

const rest = () => new Promise(go => setTimeout(go));

// The settings of sampling in the form: the model's own, in fields that are hidden without them.  Returns a function that reads them.
function samplingOf({ sampling: { source = '', values = {} } = {} }) {
  for (const [id, value] of Object.entries(values)) {
    Object.assign($(id), { step: 'any', value });
    $(id).parentElement.hidden = false;
  }
  if (source) $('hint').append(` Sampling: ${source}.`);
  return () => Object.fromEntries(['temperature', 'top', 'k', 'min', 'repetition'].map(id => [id, +$(id).value]));
}

// FNV-1a of 32 bits
function checkOf(bytes) {
  let h = 0x811c9dc5;
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  return h >>> 0;
}

// A part that stands in the page, in base64; it is taken in pieces, for the page must not stand still.
async function partOf(config, id, progress) {
  const { bytes: wanted, check } = config[id], element = $(id), cut = found => new Fault(
    `This page is cut off: of the ${id === 'weights' ? 'weights' : 'program'} ${found} of ${wanted} bytes are there. Fetch the file again.`);
  if (!element) throw cut(0);
  const text = element.textContent.trim(), bytes = new Uint8Array(wanted), piece = 1 << 20;
  const found = Math.max(0, Math.floor(text.length * 3 / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0));
  if (found !== wanted) throw cut(found);
  for (let at = 0, to = 0; at < text.length; at += piece) {
    let part;
    try {
      part = atob(text.slice(at, at + piece));
    } catch {
      throw new Fault('This page is damaged: its data is not base64. Fetch the file again.');
    }
    for (let i = 0; i < part.length; i++) bytes[to++] = part.charCodeAt(i);
    progress(to / wanted);
    await rest();
  }
  if (checkOf(bytes) !== check)
    throw new Fault(`This page is damaged: its ${id === 'weights' ? 'weights are' : 'program is'} not as written. Fetch the file again.`);
  element.remove();
  return bytes;
}

// Weights beside the page.
async function fetched(config, progress) {
  const wanted = config.weights.bytes, name = decodeURIComponent(config.link);
  const refuse = why => new Fault(`The weights, ${name}, can't be fetched: ${why}. They must be beside this page, and the page must come from a server: ` +
    'python3 -m http.server in that folder is one.');
  if (location.protocol === 'file:') throw refuse('browsers read no other file from a disk');
  let bytes = 0;
  const all = new Uint8Array(wanted);
  try {
    const answer = await fetch(config.link);
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    for (const reader = answer.body.getReader();;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (bytes + value.length > wanted) throw new Error('the file is too long: it is of another page');
      all.set(value, bytes);
      progress((bytes += value.length) / wanted);
    }
  } catch (e) {
    throw refuse(e.message);
  }
  if (bytes !== wanted) throw new Fault(`The weights, ${name}, are cut off: ${bytes} of ${wanted} bytes are there. Fetch them again.`);
  return all;
}

// Talks with the worker: ask(kind, value, part) gives a promise of the result; parts come before it.
function workerOf(source) {
  let worker, id = 0;
  const waiting = new Map();
  try {
    worker = new Worker(URL.createObjectURL(new Blob([source + '\nserve();\n'], { type: 'text/javascript' })));
  } catch (e) {
    throw new Fault(`This browser does not allow work in the background: ${e.message}`);
  }
  const failAll = why => {
    for (const { fail } of waiting.values()) fail(new Fault(why));
    waiting.clear();
  };
  worker.onerror = e => failAll(`The page's worker ended: ${e.message || 'memory may be short'}`);
  worker.onmessage = ({ data: { kind, id, value } }) => {
    const w = waiting.get(id);
    if (!w) return;
    if (kind === 'part') return w.part(value);
    waiting.delete(id);
    if (kind === 'done') w.done(value);
    else w.fail(new Fault(value));
  };
  return {
    ask: (kind, value, part = () => {}, moved = []) => new Promise((done, fail) => {
      waiting.set(++id, { done, fail, part });
      worker.postMessage({ kind, id, value }, moved);
    }),
    stop: () => worker.postMessage({ kind: 'stop', id: ++id }),
  };
}

const how = { relaxed: 'multiply-add in one instruction', exact: 'multiply-add made of doubles: slower, the same bits' };

// Calls ready(ask, stop, config, how) once the model is there.
function startPage(ready) {
  const fault = e => {
    $('loading').hidden = true;
    state(e instanceof Fault ? e.message : `Something is wrong in this page: ${e.message}`, true);
    document.documentElement.dataset.state = 'fault';
  };
  addEventListener('DOMContentLoaded', async () => {
    try {
      if (typeof WebAssembly !== 'object' || typeof Worker !== 'function' || typeof BigInt !== 'function')
        throw new Fault("This browser can't run the model: it knows no WebAssembly. Take a newer one.");
      state('Loading …');
      const config = JSON.parse($('config').textContent), progress = x => $('loading').value = x;
      const relaxed = await partOf(config, 'relaxed', () => {}), exact = await partOf(config, 'exact', () => {});
      let weights;
      try {
        weights = await (config.link ? fetched(config, progress) : partOf(config, 'weights', progress));
      } catch (e) {
        throw e instanceof RangeError ? new Fault(`Out of memory: the weights take ${config.weights.bytes} bytes.`) : e;
      }
      const { ask, stop } = workerOf($('engine').textContent);
      const variant = await ask('open', { relaxed, exact, weights }, () => {}, [relaxed.buffer, exact.buffer, weights.buffer]);
      $('loading').hidden = true;
      state(`Ready: ${how[variant]}.`);
      if (config.no_look) $('state').after(Object.assign(document.createElement('p'), { className: 'quiet', id: 'no-look', textContent: `Attention is not shown: ${config.no_look}.` }));
      document.documentElement.dataset.variant = variant;
      document.documentElement.dataset.state = 'ready';
      ready({ ask, stop, config, fault });
    } catch (e) {
      fault(e);
    }
  });
}

// Buttons of what begins, runs and is stopped: go submits the form, another one, where there is that button, takes the next seed.
function startButtons({ stop, fault }, run) {
  const form = $('form');
  let running = 0;
  const begin = async () => {
    if (!form.reportValidity()) return;
    const me = ++running;
    $('stop').disabled = false;
    document.documentElement.dataset.state = 'busy';
    try {
      await run(() => running === me);
      if (running === me) document.documentElement.dataset.state = 'ready';
    } catch (e) {
      if (running === me) fault(e);
    }
    if (running === me) $('stop').disabled = true;
  };
  form.onsubmit = e => {
    e.preventDefault();
    begin();
  };
  $('stop').onclick = stop;
  if ($('other')) {
    $('other').onclick = () => {
      $('seed').value = +$('seed').value + 1;
      begin();
    };
    $('other').disabled = false;
  }
  $('go').disabled = false;
  return begin;
}
