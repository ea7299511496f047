// A page that draws.
'use strict';

startPage(page => {
  const { ask, config } = page, { channels, rows, columns } = config, canvas = $('picture'), pen = canvas.getContext('2d');
  const colours = channels === 3 ? 3 : 1;
  canvas.width = columns;
  canvas.height = rows;
  if (config.classes) $('class').max = config.classes - 1;
  else $('for-class').hidden = true;

  // -1 to 1 as 0 to 255
  function show(x) {
    const all = pen.createImageData(columns, rows), plane = rows * columns;
    for (let i = 0; i < plane; i++) {
      for (let c = 0; c < 3; c++) all.data[4 * i + c] = Math.min(255, Math.max(0, Math.floor((x[(colours === 3 ? c : 0) * plane + i] + 1) * 127.5 + 0.5)));
      all.data[4 * i + 3] = 255;
    }
    pen.putImageData(all, 0, 0);
  }

  startButtons(page, async current => {
    const asked = { of_class: +$('class').value, steps: +$('steps').value, guidance: +$('guidance').value, seed: $('seed').value, values: channels * plane() };
    const made = await ask('denoise', asked, ({ picture, done, calls }) => {
      if (!current()) return;
      show(picture);
      state(`${done} of ${calls}`);
    });
    if (!current()) return;
    show(made.picture);
    state(`${made.calls} calls of the model in ${made.seconds.toFixed(2)} s; hash ${made.hash}`);
  })();

  function plane() {
    return rows * columns;
  }
});
