/**
 * Streams whose content is wrong, unusual or too much: frames, versions, bookmarks, sizes,
 * selectors, compression.
 */
import type { FaultCase } from './fault-case.ts';
import { type Rig, UNSEEN } from './harness.ts';

const widget = (name: string, more: object = {}): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default', resourceVersion: '1' },
  spec: { round: 0, text: '' },
  ...more,
});
const frame = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

/**
 * Sends these bytes in the next watch, and deletes an object before the next request of the
 * informer.
 */
async function insert(rig: Rig, bytes: string | Uint8Array, afterEvents = 0): Promise<void> {
  rig.inject({ verb: 'watch', do: 'insert', bytes, afterEvents, times: 1 });
  await rig.cut();
}

/** An invalid frame: the watch ends, and the informer relists. */
const malformed = (what: string, bytes: string | Uint8Array): FaultCase => ({
  name: `${what} in a watch is an error and leads to a new list, never to a lost event`,
  missed: true,
  told: 'decode',
  async play(rig) {
    await insert(rig, bytes);
    await rig.delete(UNSEEN);
    await rig.churn(5);
    await rig.caughtUp();
  },
});

export const content: FaultCase[] = [
  malformed('text that is no JSON', '<html>502 Bad Gateway</html>\n'),
  malformed('a broken object', '{"type":"MODIFIED","object":{"kind":"Widget","metadata":}}\n'),
  malformed('a byte order mark', `\ufeff${frame('MODIFIED', widget('a'))}`),
  malformed('an event of an unknown type', frame('RENAMED', widget('a'))),
  malformed('an event without an object', '{"type":"ADDED"}\n'),
  malformed('an object without a name', frame('ADDED', { ...widget('a'), metadata: {} })),
  malformed('an ERROR event that is no Status', frame('ERROR', widget('a'))),
  malformed('a value that is no object', '[]\n'),
  malformed(
    'a frame above 16 MiB',
    frame('MODIFIED', widget('a', { text: 'x'.repeat(17 * 1024 * 1024) })),
  ),
  malformed(
    'a frame that nests too deep',
    `{"type":"ADDED","object":${'['.repeat(10_001)}${']'.repeat(10_001)}}\n`,
  ),
  {
    name: 'after invalid bytes the first list is requested again',
    early: true,
    async play(rig) {
      rig.inject({ do: 'garbage', bytes: '<html>', times: 2 });
      await rig.run();
    },
  },
  {
    name: 'an object of another kind is skipped, and the watch goes on',
    asked: 1,
    async play(rig) {
      await insert(rig, frame('ADDED', widget('a', { kind: 'Gadget' })));
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'events that come again after a new connection are applied by key',
    async play(rig) {
      await rig.churn(10);
      await rig.caughtUp();
      rig.repeats = true;
      rig.inject({ verb: 'watch', do: 'replay', lastEvents: 4, times: 1 });
      await rig.cut();
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'events of two objects in another order give the same cache',
    asked: 1,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'swap', times: 1 });
      await rig.cut();
      await rig.update('b');
      await rig.update('c');
      await rig.update('d');
      await rig.caughtUp();
      await rig.cut();
    },
  },
  {
    name: 'a bookmark sets the version from which a quiet watch resumes',
    asked: 1,
    async play(rig) {
      const version = await rig.writeElsewhere('elsewhere');
      await rig.pass(65_000);
      const before = rig.watches();
      await rig.cut();
      await rig.until('another watch', () => rig.watches() > before);
      const asked = rig.requests.at(-1)?.query?.resourceVersion;
      if (asked !== version) throw new Error(`asked from ${asked}, the bookmark was ${version}`);
    },
  },
  {
    name: 'events without a version are applied, and no event is missed when the watch ends',
    asked: 1,
    unversioned: true,
    async play(rig) {
      rig.repeats = true;
      rig.inject({ verb: 'watch', do: 'omit', what: 'version', times: 1 });
      await rig.cut();
      await rig.churn(5);
      await rig.caughtUp();
      // A watch without a version would begin with the existing objects and give no deletions.
      rig.inject({ verb: 'watch', do: 'refuse', times: 2 });
      await rig.cut();
      await rig.delete(UNSEEN);
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'a first list without versions is followed by a watch',
    early: true,
    unversioned: true,
    async play(rig) {
      rig.repeats = true;
      rig.inject({ do: 'omit', what: 'version', times: 1 });
      await rig.run();
      await rig.churn(5);
      await rig.caughtUp();
    },
  },
  {
    name: 'initial objects whose end bookmark never comes are listed instead',
    only: 'stream',
    early: true,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'omit', what: 'initial-events-end' });
      await rig.run();
    },
  },
  {
    name: 'a bookmark among the initial objects does not end them',
    only: 'stream',
    early: true,
    asked: 1,
    async play(rig) {
      const metadata = { resourceVersion: '3' };
      const bookmark = frame('BOOKMARK', {
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        metadata,
      });
      rig.inject({ verb: 'watch', do: 'insert', bytes: bookmark, afterEvents: 2, times: 1 });
      await rig.run();
      if (rig.recorder.later > 0)
        throw new Error('the initial list was taken for complete too early');
    },
  },
  {
    name: 'a watch list that ends before its bookmark is opened again, not applied',
    only: 'stream',
    early: true,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'end', afterEvents: 3, times: 2 });
      await rig.run();
      if (rig.recorder.told.size !== rig.written.size) throw new Error('half a stream was applied');
    },
  },
  {
    name: 'a server without watch lists is asked for a list',
    only: 'stream',
    early: true,
    async play(rig) {
      rig.inject({ verb: 'watch', do: 'status', status: 422, query: 'sendInitialEvents' });
      await rig.run();
    },
  },
  {
    name: 'an object that stops matching the selector is deleted, and may come back',
    asked: 1,
    options: { listWatch: { labelSelector: 'on=yes' } },
    async play(rig) {
      await rig.update('a', { on: 'no' });
      await rig.caughtUp();
      await rig.update('a', { on: 'yes' });
      await rig.churn(20);
      await rig.caughtUp();
      await rig.cut();
      await rig.churn(20);
    },
  },
  {
    name: 'an object of two megabytes is an ordinary object',
    asked: 1,
    async play(rig) {
      await rig.update('a', { on: 'yes' }, 'x'.repeat(2_000_000));
      await rig.caughtUp();
      await rig.cut();
      await rig.update('a', { on: 'yes' }, 'y'.repeat(2_000_000));
    },
  },
  {
    name: 'a server that compresses streams and lists on request is read uncompressed',
    asked: 1,
    early: true,
    options: { server: { compressWatches: true } },
    async play(rig) {
      for (const name of ['f', 'g']) await rig.create(name, { on: 'yes' }, 'x'.repeat(100_000));
      await rig.run();
      await rig.churn(10);
    },
  },
  {
    name: 'the watch of a slow client is ended by the server, and resumes where it was',
    asked: 1,
    options: { server: { watchBuffer: 3 } },
    async play(rig) {
      rig.hold();
      for (let n = 0; n < 30; n++) await rig.update('a', { on: 'yes' }, `${n}`.repeat(500_000));
      const before = rig.watches();
      rig.release();
      await rig.caughtUp();
      if (rig.watches() === before) throw new Error('the watch was not ended');
    },
  },
];
