// A page that holds conversations.
'use strict';

startPage(page => {
  const { ask, stop, config } = page, attention = config.heads && attentionOf(page), turns = $('turns'), prompt = $('prompt');
  const given = [$('seed'), $('system')]; // of a whole conversation
  const sampling = samplingOf(config);
  let talk = { begun: false };

  $('steps').max = $('steps').value = config.context;
  $('for-system').hidden = config.system === undefined;
  $('system').value = config.system ?? '';
  $('system').placeholder = config.own_system ?? '';
  $('read').hidden = !attention;
  if (attention) $('read').append($('attention'));
  turns.after($('state'));
  prompt.onkeydown = e => {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    $('form').requestSubmit();
  };

  function addTurn(who, text) {
    const turn = Object.assign(document.createElement('p'), { className: `turn ${who}`, textContent: text });
    turn.setAttribute('aria-label', who === 'you' ? 'you' : config.name);
    turns.append(turn);
    turn.scrollIntoView({ block: 'nearest' });
    return turn;
  }

  // The oldest turns that the context has no room for any more, with their answers.
  function leaveOut(n) {
    const here = [...turns.querySelectorAll('.turn:not(.left-out)')].slice(0, 2 * n);
    for (const turn of here) {
      turn.classList.add('left-out');
      turn.title = 'the model no longer sees this: its context is full';
    }
  }

  function begin() {
    talk = { begun: false };
    turns.replaceChildren();
    for (const field of given) field.disabled = false;
    if (attention) attention.forget();
  }

  function told({ tokens, rate, first, length, dropped, full, hash }) {
    const left = dropped ? `; the context is full: the oldest turns are left out, ${dropped} of them` : '';
    return `${tokens} tokens, ${rate.toFixed(0)} a second; the first after ${first.toFixed(1)} ms; the conversation has ${length} of ${config.context}${left}` +
      `${full ? '; the context is full: the answer ends here' : ''}; hash ${hash}`;
  }

  startButtons(page, async current => {
    const text = prompt.value, me = talk;
    if (!text.trim()) return state('Enter a message.', true);
    const fresh = me.begun ? null : { seed: $('seed').value, system: $('system').value || null };
    const asked = { fresh, text, steps: +$('steps').value, ...sampling(), context: config.context };
    const you = addTurn('you', text), answer = addTurn('model', '');
    const takeBack = () => {
      you.remove();
      answer.remove();
      prompt.value = prompt.value || text;
    };
    prompt.value = '';
    me.begun = true;
    for (const field of given) field.disabled = true;
    if (attention) attention.forget();
    state('…');
    try {
      const made = await ask('talk', asked, part => {
        answer.append(part);
        answer.scrollIntoView({ block: 'nearest' });
      });
      if (me !== talk) return;
      if (!made) takeBack();
      else leaveOut(made.dropped);
      if (!current()) return;
      if (attention && made) await attention.take();
      if (me === talk && current()) state(made ? told(made) : 'Stopped before there was an answer.');
    } catch (e) {
      if (me !== talk) return;
      takeBack();
      throw e;
    }
  });
  $('new').onclick = () => {
    stop();
    begin();
    state('A new conversation.');
    prompt.focus();
  };
  $('new').disabled = false;
});
