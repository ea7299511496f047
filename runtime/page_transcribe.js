// A page that writes down sounds.
'use strict';

startPage(page => {
  const { ask, stop, config, fault } = page, { rate, most } = config, out = $('text'), chosen = $('drop');
  let samples = 0, recorder = null;

  $('steps').max = $('steps').value = config.context;

  // Of what the browser plays: the mean of the channels, at the model's rate.
  async function decoded(file, bytes) {
    let sound;
    try {
      sound = await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes);
    } catch {
      throw new Fault(`${file.name} is not a sound that this browser can read.`);
    }
    const mean = new Float32Array(sound.length), n = sound.numberOfChannels;
    for (let c = 0; c < n; c++) sound.getChannelData(c).forEach((x, i) => { mean[i] += x / n; });
    return mean;
  }

  // A file becomes the sound; one that the model reads as other programs do goes to it as it is.
  async function take(file) {
    if (!file) return;
    try {
      const bytes = await file.arrayBuffer();
      samples = await ask('sound', { file: new Uint8Array(bytes) }) ?? await ask('sound', { samples: await decoded(file, bytes) });
      if (!samples) throw new Fault(`${file.name} has no samples.`);
      URL.revokeObjectURL($('sound').src);
      $('sound').src = URL.createObjectURL(file);
      $('sound').hidden = false;
      $('from').value = 0;
      $('from').max = (samples - 1) / rate;
      $('go').disabled = false;
      $('form').requestSubmit();
    } catch (e) {
      fault(e);
    }
  }

  const part = from => `from ${(from / rate).toFixed(1)} to ${(Math.min(samples, from + most) / rate).toFixed(1)} of ${(samples / rate).toFixed(1)} s`;
  startButtons(page, async current => {
    const from = Math.min(samples - 1, Math.round($('from').value * rate));
    out.textContent = '';
    out.setAttribute('aria-busy', 'true');
    state(`Transcribing ${part(from)} …`);
    const made = await ask('transcribe', { from, steps: +$('steps').value, temperature: +$('temperature').value, seed: $('seed').value }, text => current() && out.append(text));
    if (!current()) return;
    out.setAttribute('aria-busy', 'false');
    const more = from + most < samples ? ` The model hears ${most / rate} s at a time: the rest begins at second ${((from + most) / rate).toFixed(1)}.` : '';
    state(`Transcribed ${part(from)}: ${made.tokens} tokens, ${made.rate.toFixed(0)} a second; the first after ${(made.first / 1e3).toFixed(2)} s; hash ${made.hash}.${more}`);
  });
  $('go').disabled = true; // until there is a sound

  async function record() {
    if (recorder) return recorder.stop();
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
    } catch (e) {
      return state(`The microphone is not available: ${e.message}`, true);
    }
    const parts = [];
    recorder = new MediaRecorder(stream);
    const end = setTimeout(() => recorder?.stop(), 1e3 * most / rate);
    recorder.ondataavailable = e => parts.push(e.data);
    recorder.onstop = () => {
      clearTimeout(end);
      for (const track of stream.getTracks()) track.stop();
      const { mimeType } = recorder;
      recorder = null;
      $('record').textContent = 'Record';
      take(new File(parts, 'The recording', { type: mimeType }));
    };
    stop();
    recorder.start();
    $('record').textContent = 'End the recording';
    state(`Recording, at most ${most / rate} s …`);
  }
  if (navigator.mediaDevices?.getUserMedia && typeof MediaRecorder === 'function') {
    $('record').onclick = record;
    $('record').disabled = false;
  } else {
    $('record').title = 'this browser gives a page from here no microphone: one from a server with https, or from this machine, may have it';
  }

  const board = document.documentElement;
  board.ondragover = e => {
    e.preventDefault();
    chosen.classList.add('over');
  };
  board.ondragleave = () => chosen.classList.remove('over');
  board.ondrop = e => {
    e.preventDefault();
    chosen.classList.remove('over');
    take(e.dataTransfer.files[0]);
  };
  $('file').onchange = () => {
    take($('file').files[0]);
    $('file').value = '';
  };
});
