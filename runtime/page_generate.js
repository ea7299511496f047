// A page that tells texts.
'use strict';

startPage(page => {
  const { ask, config } = page, out = $('text'), attention = config.heads && attentionOf(page);
  $('steps').max = $('steps').value = config.context;
  $('prompt').onkeydown = e => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) $('form').requestSubmit();
  };
  $('hint').textContent = 'Ctrl+Enter generates. Without a beginning the model makes one up.';
  $('hint').hidden = false;
  const sampling = samplingOf(config);
  startButtons(page, async current => {
    const prompt = $('prompt').value, given = document.createElement('span');
    given.className = 'given';
    given.textContent = prompt;
    out.replaceChildren(given);
    out.setAttribute('aria-busy', 'true');
    if (attention) attention.forget();
    state('…');
    const asked = { prompt, steps: +$('steps').value, ...sampling(), seed: $('seed').value };
    const made = await ask('generate', asked, part => current() && out.append(part));
    if (!current()) return;
    out.setAttribute('aria-busy', 'false');
    if (attention) await attention.take();
    if (!current()) return;
    state(`${made.tokens} tokens, ${made.rate.toFixed(0)} a second; the first after ${made.first.toFixed(1)} ms; hash ${made.hash}`);
  });
});
