/** The suite in a page, `/?runtime=…&keys=…`. The report goes back to the server that served the page; progress goes to the console. */
import type { SuiteMessage } from '../report.ts';
import { runSuite } from '../suite.ts';

const query = new URLSearchParams(location.search);

async function send(message: SuiteMessage): Promise<void> {
  document.title = message.kind === 'progress' ? message.path.join(' > ') : message.kind;
  if (message.kind === 'progress') return;
  await fetch('/report', { method: 'POST', body: JSON.stringify(message) });
}

await runSuite(query.get('runtime') ?? '', query.get('keys') ?? '', send);
