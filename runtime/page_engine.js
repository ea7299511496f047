// The model's side of a page, in a worker: it takes the module that rounds as it must, and runs it.  Needs no network and imports nothing.
'use strict';

class Fault extends Error {} // what the page says as it stands

const bytesAt = (model, at, n) => new Uint8Array(model.memory.buffer, at >>> 0, n);

function textAt(model, at) {
  if (!at) return '';
  const all = new Uint8Array(model.memory.buffer, at >>> 0);
  return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
}

// Runs work that takes room, or says how much there is not.
function put(model, bytes, zero = 0) {
  const at = model.room(bytes.length + zero);
  if (!at) throw new Fault(`Out of memory: ${bytes.length} more bytes can't be allocated.`);
  const to = bytesAt(model, at, bytes.length + zero);
  to.fill(0, bytes.length);
  to.set(bytes);
  return at;
}

function check(model, error) {
  if (error) throw new Fault(`The model reports an error: ${textAt(model, model.error_text(error))}.`);
}

// Gives a text to what returns an error.
function withText(model, text, take) {
  const at = put(model, new TextEncoder().encode(text.replaceAll('\0', ' ')), 1), error = take(at);
  model.give_back(at);
  check(model, error);
}

// The system's message may be null: the model's own, or none.
function beginTalk(model, { system, seed }) {
  if (system === null) check(model, model.begin(0, BigInt(seed)));
  else withText(model, system, at => model.begin(at, BigInt(seed)));
}

async function instanceOf(code) {
  try {
    return (await WebAssembly.instantiate(code, {})).instance.exports;
  } catch (e) {
    throw new Fault(`Out of memory: the browser has no room for the model (${e.message}).`);
  }
}

// data: {relaxed, exact, weights}.  The model's functions, and which module it is.
async function openModel(data, variants = ['relaxed', 'exact']) {
  for (const variant of variants) {
    if (!WebAssembly.validate(data[variant])) continue;
    const model = await instanceOf(data[variant]);
    model._initialize();
    const error = model.open(put(model, data.weights), data.weights.length);
    if (error && model.rounds_wrong(error)) continue;
    check(model, error);
    return { ...model, variant };
  }
  throw new Fault("This browser can't run the model: it knows no WebAssembly with vectors (SIMD). Take a newer one.");
}

const hashOf = model => BigInt.asUintN(64, model.hash()).toString(16).padStart(16, '0');

// Lets other messages through, a "stop" say.
const channel = new MessageChannel();
const breathe = () => new Promise(go => {
  channel.port1.onmessage = go;
  channel.port2.postMessage(0);
});

// A turn after the other, in slices of 8 ms; shown(now) after each slice; until turn() says true or stopped() does.
async function inSlices(turn, shown, stopped) {
  for (let over = false, since = performance.now(); !over;) {
    over = turn();
    if (!over && performance.now() - since < 8) continue;
    shown();
    await breathe();
    over = over || stopped();
    since = performance.now();
  }
}

// Calls piece() until it says 0, nothing is left; false: it was stopped on the way.
async function taken(model, piece, stopped) {
  let left = 1;
  await inSlices(() => {
    left = piece();
    if (left < 0) check(model, -1 - left);
    return left === 0;
  }, () => 0, stopped);
  return left === 0;
}

// What comes of a text that was begun, as it is made; how fast: the time until the first token counts from `begun` on.
async function tale(model, begun, show, stopped) {
  const decoder = new TextDecoder();
  let text = '', first = 0, busy = 0, since = begun;
  await inSlices(() => {
    const n = model.next();
    if (n < -1) check(model, -1 - n);
    if (n > 0) text += decoder.decode(bytesAt(model, model.text(), n));
    if (!first && model.made()) first = performance.now();
    return n === -1;
  }, () => {
    busy += performance.now() - since;
    if (text) show(text);
    text = '';
    since = performance.now();
  }, () => {
    since = performance.now();
    return stopped();
  });
  const made = model.made(), rest = busy - (first - begun);
  return { tokens: made, first: first ? first - begun : 0, rate: made > 1 && rest > 0 ? 1e3 * (made - 1) / rest : 0, full: model.full() !== 0, hash: hashOf(model) };
}

// What the model's functions take after the number of steps.
const sampling = ({ temperature = 0, top = 1, k = 0, min = 0, repetition = 1 }) => [temperature, top, k, min, repetition];

// What a page asks of each loop; show(part) as it comes; the result.
const loops = {
  async generate(model, { prompt, steps, seed, ...how }, show, stopped) {
    const begun = performance.now();
    withText(model, prompt, at => model.begin(at, steps, ...sampling(how), BigInt(seed)));
    return tale(model, begun, show, stopped);
  },

  // A turn of a conversation, which is a new one if it is fresh: {system, seed}; null: it was stopped before there was an answer.
  async talk(model, { fresh, text, steps, context, ...how }, show, stopped) {
    const begun = performance.now();
    if (fresh) beginTalk(model, fresh);
    else if (model.leave && !await taken(model, model.leave, stopped)) return null;
    withText(model, text, at => {
      const error = model.say(at, steps, ...sampling(how));
      if (error && model.length() > context) throw new Fault(`With this turn the conversation has ${model.length()} tokens, but the context holds ${context}.`);
      return error;
    });
    const dropped = model.dropped();
    let made;
    try {
      made = await tale(model, begun, show, stopped);
    } finally {
      if (!made || (!made.tokens && stopped())) model.unsay();
    }
    return made.tokens || !stopped() ? { ...made, dropped, length: model.length() } : null;
  },

  // Texts of all tokens, and how many of them were given.
  async tokens(model) {
    const decoder = new TextDecoder(), texts = [];
    for (let i = 0; i < model.tokens(); i++) texts.push(decoder.decode(bytesAt(model, model.text(), model.token(i)), { stream: true }));
    return { texts, given: model.given() };
  },

  // Of the piece that token `at` is in: weights [layers times heads][rows][first + rows]; null: it was stopped on the way.
  async attention(model, { at, maps }, show, stopped) {
    if (!await taken(model, () => model.attend(at), stopped)) return null;
    const first = model.attention_first(), rows = model.attention_rows();
    return { first, rows, weights: new Float32Array(model.memory.buffer, model.attention() >>> 0, maps * rows * (first + rows)).slice() };
  },

  // The samples of a file, or those that are given; null: it is not a WAV file that the model hears as it stands.
  async sound(model, { file, samples }) {
    if (file) {
      const at = put(model, file), n = model.wav(at, file.length);
      model.give_back(at);
      if (n < 0) throw new Fault('Out of memory: there is no room for the sound.');
      return n || null;
    }
    const to = model.sound(BigInt(samples.length));
    if (!to) throw new Fault('Out of memory: there is no room for the sound.');
    new Float32Array(model.memory.buffer, to >>> 0, samples.length).set(samples);
    return samples.length;
  },

  // The text of the sound from sample `from` on.
  async transcribe(model, { from, steps, temperature, seed }, show, stopped) {
    const begun = performance.now();
    check(model, model.begin(from, steps, temperature, 1, BigInt(seed)));
    return tale(model, begun, show, stopped);
  },

  async classify(model, { pixels, width, height, channels }) {
    const begun = performance.now(), at = put(model, pixels), error = model.classify(at, width, height, channels);
    model.give_back(at);
    check(model, error);
    const p = new Float64Array(model.memory.buffer, model.probabilities() >>> 0, model.classes());
    const classes = [...p].map((probability, number) => ({ probability, number, label: textAt(model, model.label(number)) }));
    classes.sort((a, b) => b.probability - a.probability || a.number - b.number);
    return { classes: classes.slice(0, 5), seconds: (performance.now() - begun) / 1e3, hash: hashOf(model) };
  },

  async embed(model, { texts }, show, stopped) {
    const begun = performance.now(), vectors = [];
    model.begin();
    await inSlices(() => {
      withText(model, texts[vectors.length], at => model.embed(at));
      vectors.push(new Float32Array(model.memory.buffer, model.vector() >>> 0, model.width()).slice());
      return vectors.length === texts.length;
    }, () => 0, stopped);
    return { vectors, seconds: (performance.now() - begun) / 1e3, hash: hashOf(model) };
  },

  async fill(model, { text }) {
    const begun = performance.now(), word = token => new TextDecoder().decode(bytesAt(model, model.text(), model.word(token)));
    withText(model, text, at => model.fill(at));
    const masks = [...Array(model.masks()).keys()].map(mask => [0, 1, 2, 3, 4].filter(i => model.probability(mask, i) > 0)
      .map(i => ({ word: word(model.filling(mask, i)), probability: model.probability(mask, i) })));
    return { masks, mask: word(-1), seconds: (performance.now() - begun) / 1e3, hash: hashOf(model) };
  },

  async denoise(model, { of_class, steps, guidance, seed, values }, show, stopped) {
    const begun = performance.now();
    check(model, model.begin(of_class, steps, guidance, BigInt(seed)));
    const picture = () => new Float32Array(model.memory.buffer, model.picture() >>> 0, values).slice();
    let left = model.calls();
    await inSlices(() => {
      left = model.next();
      if (left < 0) check(model, -1 - left);
      return left === 0;
    }, () => show({ picture: picture(), done: model.calls() - left, calls: model.calls() }), stopped);
    return { picture: picture(), seconds: (performance.now() - begun) / 1e3, calls: model.calls() - left, hash: hashOf(model) };
  },
};

// Some tokens at first, for 60 ms, of what needs no sound: by then the browser has compiled for speed what it had compiled for a quick start.
// Returns how many, or -1 if nothing was tried.
function warm(model) {
  if (!model.made || model.sound) return -1;
  const at = put(model, new Uint8Array(), 1), until = performance.now() + 60, how = [1e6, ...sampling({})];
  let made = 0;
  if (!(model.say ? model.begin(0, 1n) || model.say(at, ...how) : model.begin(at, ...how, 1n)))
    while (performance.now() < until && model.next() >= 0) made++;
  model.give_back(at);
  return made;
}

// One thing at a time: there is one instance.
function serve() {
  let model, turn = Promise.resolve(), latest = 0;
  const say = (kind, id, value) => postMessage({ kind, id, value });
  const failed = id => e => say('fault', id, e instanceof Fault ? e.message : e instanceof RangeError || e instanceof WebAssembly.RuntimeError
    ? `The model stopped: ${e.message}. Memory may be short; load the page again.` : `Something is wrong in this page: ${e.message}`);
  onmessage = ({ data: { kind, id, value } }) => {
    latest = id; // whatever runs for an older one stops
    if (kind === 'open')
      turn = turn.then(async () => {
        model = await openModel(value);
        warm(model);
        say('done', id, model.variant);
      }).catch(failed(id));
    else if (kind !== 'stop')
      turn = turn.then(async () => say('done', id, await loops[kind](model, value, part => say('part', id, part), () => latest !== id))).catch(failed(id));
  };
}
