// A page that fills masks.
'use strict';

startPage(({ ask, fault }) => {
  const prompt = $('prompt'), make = (kind, text, ...inside) => {
    const element = Object.assign(document.createElement(kind), { textContent: text });
    element.append(...inside);
    return element;
  };
  let mask = 'a mask', latest = 0;
  ask('fill', { text: '' }).then(made => { // how the tokenizer writes it
    mask = made.mask;
    $('hint').textContent = `Ctrl and Enter fill. ${mask} stands for a word that is left out.`;
    $('mask').disabled = false;
  }).catch(fault);

  function show(masks) {
    $('fillings').replaceChildren(...masks.map((words, i) => {
      const list = make('ol', '', ...words.map(({ word, probability }) => {
        const meter = make('meter', '');
        meter.value = probability;
        meter.setAttribute('aria-hidden', 'true');
        return make('li', '', make('span', word.trim() || '␣'), make('span', `${(100 * probability).toFixed(1)} %`), meter);
      }));
      list.className = 'shares';
      list.setAttribute('aria-label', `likeliest words for mask ${i + 1}`);
      return list;
    }));
  }

  prompt.onkeydown = e => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) $('form').requestSubmit();
  };
  $('mask').onclick = () => {
    prompt.setRangeText(mask, prompt.selectionStart, prompt.selectionEnd, 'end');
    prompt.focus();
  };
  $('form').onsubmit = async e => {
    e.preventDefault();
    const me = ++latest;
    document.documentElement.dataset.state = 'busy';
    try {
      const { masks, seconds, hash } = await ask('fill', { text: prompt.value });
      if (me !== latest) return;
      show(masks);
      state(masks.length ? `${(1e3 * seconds).toFixed(1)} ms; hash ${hash}` : `The text has no mask: it must contain ${mask}.`, !masks.length);
      document.documentElement.dataset.state = 'ready';
    } catch (e) {
      if (me === latest) fault(e);
    }
  };
  $('go').disabled = false;
});
