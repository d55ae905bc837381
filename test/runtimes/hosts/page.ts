/** The suite in a page, `/?claims=…`. The report goes back to the server that served the page; progress goes to the console. */
import type { Claims, SuiteMessage } from '../report.ts';
import { runSuite } from '../suite.ts';

const claims = JSON.parse(new URLSearchParams(location.search).get('claims') ?? '') as Claims;

async function send(message: SuiteMessage): Promise<void> {
  document.title = message.kind === 'progress' ? message.path.join(' > ') : message.kind;
  if (message.kind === 'progress') return;
  await fetch('/report', { method: 'POST', body: JSON.stringify(message) });
}

await runSuite(claims, send);
