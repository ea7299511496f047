// Attention beside a text: which tokens the model looked at as it read one.  A page that tells texts gives it each text when that is done.
'use strict';

function attentionOf({ ask, config, fault }) {
  const { layers, heads } = config, out = $('text'), marks = { 0: 'start' }, shown = 5;
  let of = { pieces: new Map(), spans: [], texts: [], chosen: -1 };

  for (const [id, n] of [['layer', layers], ['head', heads]])
    for (let i = -1; i < n; i++) $(id).append(new Option(i < 0 ? 'all, their mean' : `${i + 1} of ${n}`, i));

  // The mean of the chosen layers and heads: of token `at` to each token up to itself.
  function weightsOf({ first, rows, weights }, at) {
    const layer = +$('layer').value, head = +$('head').value, columns = first + rows, mean = new Float64Array(at + 1);
    const ls = layer < 0 ? [...Array(layers).keys()] : [layer], hs = head < 0 ? [...Array(heads).keys()] : [head];
    for (const l of ls)
      for (const h of hs) {
        const row = ((l * heads + h) * rows + at - first) * columns;
        for (let i = 0; i <= at; i++) mean[i] += weights[row + i] / (ls.length * hs.length);
      }
    return mean;
  }

  const nameOf = i => of.texts[i] ? `“${of.texts[i].trim() || '␣'}”` : marks[i] ?? '·';

  // The first token has most of it often, for want of anything better; the others are compared with each other.
  function paint(mean, at) {
    const most = Math.max(...mean.subarray(1), 1e-9);
    of.spans.forEach((span, i) => {
      span.style.setProperty('--heat', i <= at ? Math.min(1, mean[i] / most).toFixed(3) : 0);
      span.classList.toggle('chosen', i === at);
    });
    const order = [...mean.keys()].sort((a, b) => mean[b] - mean[a]).slice(0, shown);
    $('looked').textContent = `${nameOf(at)} looks at ${order.map(i => `${nameOf(i)} ${(100 * mean[i]).toFixed(1)} %`).join(', ')}`;
  }

  async function show(at) {
    const me = of;
    if (!(at in me.texts)) return;
    me.chosen = at;
    try {
      let piece = [...me.pieces.values()].find(({ first, rows }) => first <= at && at < first + rows);
      if (!piece) {
        piece = await ask('attention', { at, maps: layers * heads });
        if (piece) me.pieces.set(piece.first, piece);
        if (me.pieces.size > 16) me.pieces.delete(me.pieces.keys().next().value);
      }
      if (piece && me === of && me.chosen === at) paint(weightsOf(piece, at), at);
    } catch (e) {
      fault(e);
    }
  }

  const at = e => e.target.dataset.at !== undefined && show(+e.target.dataset.at);
  out.onpointerover = out.onclick = at;
  out.onkeydown = e => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by || !of.texts.length) return;
    e.preventDefault();
    show(Math.min(of.texts.length - 1, Math.max(0, of.chosen < 0 ? of.texts.length - 1 : of.chosen + by)));
  };
  $('layer').onchange = $('head').onchange = () => show(of.chosen);

  return {
    forget() {
      of = { pieces: new Map(), spans: [], texts: [], chosen: -1 };
      $('attention').hidden = true;
    },
    async take() {
      const me = of, { texts, given } = await ask('tokens', {});
      if (me !== of) return;
      of.texts = texts;
      of.spans = texts.map((text, i) => {
        const span = document.createElement('span');
        span.textContent = text || (marks[i] ? '▸' : '');
        span.className = `token${i < given ? ' given' : ''}`;
        span.dataset.at = i;
        return span;
      });
      out.replaceChildren(...of.spans);
      $('looked').textContent = 'Point at a word, or tap it: the darker an earlier one, the more the model looked at it.';
      $('attention').hidden = false;
    },
  };
}
