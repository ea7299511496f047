// A page that names pictures.
'use strict';

startPage(({ ask, fault }) => {
  const canvas = $('drawing'), pen = canvas.getContext('2d', { willReadFrequently: true }), most = 4096;
  let from = null, wanted = false, busy = false;

  // What the canvas holds: red, green and blue, or grey if it is.
  function pixelsOf() {
    const { width, height } = canvas, all = pen.getImageData(0, 0, width, height).data;
    let grey = true;
    for (let i = 0; i < all.length && grey; i += 4) grey = all[i] === all[i + 1] && all[i] === all[i + 2];
    const channels = grey ? 1 : 3, pixels = new Uint8Array(width * height * channels);
    for (let i = 0, at = 0; i < all.length; i += 4)
      for (let c = 0; c < channels; c++) pixels[at++] = all[i + c];
    return { pixels, width, height, channels };
  }

  function show({ classes, seconds, hash }) {
    $('classes').replaceChildren(...classes.map(({ probability, number, label }) => {
      const line = document.createElement('li'), meter = document.createElement('meter');
      const name = document.createElement('span'), share = document.createElement('span');
      name.textContent = label || `class ${number}`;
      share.textContent = `${(100 * probability).toFixed(1)} %`;
      meter.value = probability;
      meter.setAttribute('aria-hidden', 'true');
      line.append(name, share, meter);
      return line;
    }));
    state(`${(1e3 * seconds).toFixed(1)} ms; hash ${hash}`);
  }

  // One at a time; what has been drawn by then is the next one.
  async function look() {
    wanted = true;
    if (busy) return;
    busy = true;
    document.documentElement.dataset.state = 'busy';
    try {
      while (wanted) {
        wanted = false;
        show(await ask('classify', pixelsOf()));
      }
      document.documentElement.dataset.state = 'ready';
    } catch (e) {
      fault(e);
    }
    busy = false;
  }

  function clear() {
    canvas.width = canvas.height = 320;
    pen.fillStyle = $('dark').checked ? '#000' : '#fff';
    pen.fillRect(0, 0, 320, 320);
    $('classes').replaceChildren();
  }

  async function take(file) {
    if (!file) return;
    let picture;
    try {
      picture = await createImageBitmap(file);
    } catch {
      state(`${file.name} is not a picture that this browser can read.`, true);
      return;
    }
    const by = Math.min(1, most / Math.max(picture.width, picture.height));
    canvas.width = Math.max(1, Math.round(picture.width * by));
    canvas.height = Math.max(1, Math.round(picture.height * by));
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
    look();
  }

  const place = e => {
    const box = canvas.getBoundingClientRect();
    return [(e.clientX - box.left) * canvas.width / box.width, (e.clientY - box.top) * canvas.height / box.height];
  };
  function stroke(to) {
    pen.strokeStyle = $('dark').checked ? '#fff' : '#000';
    pen.lineWidth = canvas.width / 14;
    pen.lineCap = pen.lineJoin = 'round';
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    pen.stroke();
    from = to;
  }
  canvas.onpointerdown = e => {
    canvas.setPointerCapture(e.pointerId);
    from = place(e);
    stroke(from);
  };
  canvas.onpointermove = e => {
    if (!from) return;
    stroke(place(e));
    look();
  };
  canvas.onpointerup = canvas.onpointercancel = () => {
    if (from) look();
    from = null;
  };
  const board = document.documentElement;
  board.ondragover = e => {
    e.preventDefault();
    $('board').classList.add('over');
  };
  board.ondragleave = () => $('board').classList.remove('over');
  board.ondrop = e => {
    e.preventDefault();
    $('board').classList.remove('over');
    take(e.dataTransfer.files[0]);
  };
  addEventListener('paste', e => take(e.clipboardData.files[0]));
  $('file').onchange = () => take($('file').files[0]);
  $('clear').onclick = $('dark').onchange = clear;
  $('clear').disabled = false;
  $('form').onsubmit = e => e.preventDefault();
  clear();
});
