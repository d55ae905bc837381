/** The suite in a page, `/?claims=…`. It posts report and progress to the server of the page. */
import type { Claims, SuiteMessage } from '../report.ts';
import { runSuite } from '../suite.ts';

const claims = JSON.parse(new URLSearchParams(location.search).get('claims') ?? '') as Claims;

async function send(message: SuiteMessage): Promise<void> {
  if (message.kind === 'progress')
    void fetch('/begun', { method: 'POST', body: message.path.join(' > ') });
  else await fetch('/report', { method: 'POST', body: JSON.stringify(message) });
}

await runSuite(claims, send);
