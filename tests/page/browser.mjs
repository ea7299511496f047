// A page in headless Chromium, by its debugging pipe: node browser.mjs PAGE.html|URL EXPRESSION [PICTURE.png] [WIDTHxHEIGHT] [dark]
// Waits until the page is ready or says a fault, then prints what the expression gives, which may be a promise; bytesOf("FILE") in it are those of a file here.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [page, asked, picture, size = '900x900', scheme = 'light'] = process.argv.slice(2);
const expression = asked.replace(/bytesOf\("([^"]+)"\)/g, (_, file) => `Uint8Array.from(atob("${fs.readFileSync(file, 'base64')}"), c => c.charCodeAt(0))`);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lathe-page-'));
const chromium = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--remote-debugging-pipe',
  `--user-data-dir=${folder}`, ...(process.env.CHROMIUM_FLAGS ?? '').split(' ').filter(Boolean), 'about:blank'], { stdio: ['ignore', 'ignore', process.env.BROWSER_SAYS ? 'inherit' : 'ignore', 'pipe', 'pipe'] });
const end = status => {
  chromium.kill('SIGKILL');
  const gone = left => { // processes of its own may still write there
    try {
      fs.rmSync(folder, { recursive: true, force: true });
      process.exit(status);
    } catch (e) {
      if (!left) throw e;
      setTimeout(gone, 100, left - 1);
    }
  };
  chromium.on('exit', () => gone(30));
};
setTimeout(() => {
  console.log('browser: not done after 60 s');
  end(1);
}, 60000);
for (const pipe of chromium.stdio.slice(3)) pipe.on('error', () => 0); // it has ended
chromium.on('error', e => {
  console.log(`browser: ${e.message}`);
  process.exit(1);
});

let number = 0, rest = '';
const waiting = new Map();
chromium.stdio[4].on('data', data => {
  const messages = (rest + data).split('\0');
  rest = messages.pop();
  if (process.env.BROWSER_SAYS) console.error(messages.map(m => m.slice(0, 300)).join('\n'));
  for (const { id, result, error } of messages.map(JSON.parse)) waiting.get(id)?.(error ? { error } : result);
});
const call = (method, params = {}, sessionId) => new Promise(done => {
  waiting.set(++number, done);
  chromium.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId }) + '\0');
});

const { targetInfos } = await call('Target.getTargets');
const { sessionId } = await call('Target.attachToTarget', { targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true });
const run = async text => {
  const { result, exceptionDetails, error } = await call('Runtime.evaluate', { expression: text, awaitPromise: true, returnByValue: true }, sessionId);
  return exceptionDetails || error ? JSON.stringify(exceptionDetails ?? error) : result.value;
};
const [width, height] = size.split('x').map(Number);
await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 }, sessionId);
await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] }, sessionId);
const { errorText } = await call('Page.navigate', { url: /^https?:/.test(page) ? page : `file://${path.resolve(page)}` }, sessionId);
// a function of the page; its policy allows no eval
const until = `state => new Promise(done => { const look = () => new RegExp(state).test(document.documentElement.dataset.state) ? done(1) : setTimeout(look, 20); look(); })`;
if (errorText) {
  console.log(`browser: ${errorText}`);
  end(1);
}
while (!/ready|fault/.test(await run('document.documentElement?.dataset.state ?? ""'))) await new Promise(go => setTimeout(go, 20));
console.log(await run(`(async () => { const until = ${until}; ${expression} })()`));
if (picture) fs.writeFileSync(picture, Buffer.from((await call('Page.captureScreenshot', {}, sessionId)).data, 'base64'));
end(0);
