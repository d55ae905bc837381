/**
 * A page under a Content-Security-Policy: the error of the core, and whether a module that a worker
 * with another policy compiled helps. Posts its results, which checks.ts compares.
 */
import { CapstanError, initCore, WorkQueue } from 'capstan/workqueue';

/** The result of using the core: `ok`, or the code and message of its error. */
function tryCore(): string {
  try {
    const queue = new WorkQueue();
    queue.add('a');
    return queue.tryGet() === 'a' ? 'ok' : 'the item is lost';
  } catch (error) {
    return error instanceof CapstanError ? `${error.code}: ${error.message}` : String(error);
  }
}

async function tryStreaming(): Promise<string> {
  try {
    await WebAssembly.compileStreaming(fetch('/node_modules/capstan/dist/wasm/core.wasm'));
    return 'ok';
  } catch (error) {
    return String(error);
  }
}

/** Workers have the policy of the answer with their script. */
function moduleFromWorker(): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker('/csp-worker.js');
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
}

const report: Record<string, string> = { alone: tryCore(), streaming: await tryStreaming() };
try {
  initCore({ module: (await moduleFromWorker()) as WebAssembly.Module });
  report.given = tryCore();
} catch (error) {
  report.given = String(error);
}
await fetch('/report', { method: 'POST', body: JSON.stringify(report) });
