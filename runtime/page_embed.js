// A page that compares texts.
'use strict';

startPage(({ ask, fault }) => {
  const cell = (kind, text) => Object.assign(document.createElement(kind), { textContent: text });

  // Each with each, as `lathe run --similar` has it.
  function show(texts, vectors) {
    const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0), length = vectors.map(v => Math.sqrt(dot(v, v)));
    const head = document.createElement('tr');
    head.append(cell('td', ''), ...texts.map((_, i) => cell('th', i + 1)));
    $('similar').replaceChildren(head, ...texts.map((text, i) => {
      const row = document.createElement('tr');
      row.append(cell('th', `${i + 1}  ${text}`), ...vectors.map((v, j) => {
        const cosine = dot(vectors[i], v) / (length[i] * length[j]), one = cell('td', cosine.toFixed(4));
        one.style.setProperty('--heat', Math.max(0, cosine).toFixed(3));
        return one;
      }));
      return row;
    }));
  }

  $('prompt').onkeydown = e => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) $('form').requestSubmit();
  };
  let latest = 0;
  $('form').onsubmit = async e => {
    e.preventDefault();
    const me = ++latest, texts = $('prompt').value.split('\n').map(t => t.trim()).filter(Boolean);
    if (!texts.length) return state('Enter a text.', true);
    document.documentElement.dataset.state = 'busy';
    try {
      const made = await ask('embed', { texts });
      if (me !== latest) return;
      show(texts, made.vectors);
      state(`${texts.length} vectors of ${made.vectors[0].length} numbers in ${made.seconds.toFixed(3)} s; hash ${made.hash}`);
      document.documentElement.dataset.state = 'ready';
    } catch (e) {
      if (me === latest) fault(e);
    }
  };
  $('go').disabled = false;
});
