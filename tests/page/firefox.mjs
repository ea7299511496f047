// A page in headless Firefox: node firefox.mjs PAGE.html EXPRESSION
// The page comes from a server of its own with a script more, which waits until it is ready or says a fault, and sends back what the expression
// gives, which may be a promise; the page's policy lets it, and is otherwise as it was.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const [page, expression] = process.argv.slice(2), folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lathe-page-'));
const asking = `<script>(async () => {
  const until = state => new Promise(done => { const look = () => new RegExp(state).test(document.documentElement.dataset.state) ? done() : setTimeout(look, 20); look(); });
  let said;
  try {
    await until('ready|fault');
    said = await (async () => { ${expression} })();
  } catch (e) {
    said = 'browser: ' + e;
  }
  await fetch('/said', { method: 'POST', body: said });
})();</script>`;
let firefox;
const end = status => {
  firefox.on('exit', () => {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    process.exit(status);
  });
  firefox.kill('SIGKILL');
};
const server = http.createServer((request, answer) => {
  if (request.method !== 'POST') {
    answer.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/html' });
    return answer.end(request.url === '/' ? fs.readFileSync(page, 'utf8').replace("connect-src 'none'", "connect-src 'self'").replace('</body>', () => `${asking}</body>`) : '');
  }
  let said = '';
  request.on('data', part => { said += part; });
  request.on('end', () => {
    console.log(said);
    answer.end();
    end(0);
  });
});
server.listen(0, '127.0.0.1', () => {
  firefox = spawn('firefox-esr', ['--headless', '--no-remote', '--profile', folder, `http://127.0.0.1:${server.address().port}/`], { stdio: 'ignore' });
  firefox.on('error', e => {
    console.log(`browser: ${e.message}`);
    process.exit(1);
  });
  setTimeout(() => {
    console.log('browser: not done after 60 s');
    end(1);
  }, 60000);
});
