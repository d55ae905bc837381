/**
 * CPU and heap profiles on request, at the paths of Go programs. Profiles contain everything in
 * memory, secrets included, and taking them costs time, so by default only this machine may request
 * them. Go: net/http/pprof; controller-runtime: manager Options.PprofBindAddress.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Session } from 'node:inspector/promises';
import { pipeline } from 'node:stream/promises';
import { getHeapSnapshot } from 'node:v8';
import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { sleep } from '../base/wait.ts';
import { type Router, sendText, targetOf } from './router.ts';

const DEFAULT_SECONDS = 30;
/** A limit, because a profile is kept in memory until it is sent. */
const MOST_SECONDS = 600;

const INDEX = `/debug/pprof/

profile?seconds=30  a CPU profile of that time, as a .cpuprofile for Chromium or an editor
heap                the whole heap, as a .heapsnapshot; the process is paused meanwhile
heap?seconds=30     what was allocated in that time and is still live, sampled, as a .heapprofile
`;

/**
 * Serves the profiles at `/debug/pprof/`. Only one is taken at a time, because they would measure
 * each other.
 *
 * @param stopping fires when the server is stopped
 */
export function serveProfiles(
  router: Router,
  clock: Clock,
  stopping: () => AbortSignal | undefined,
): void {
  let busy = false;
  const alone =
    (
      take: (
        seconds: number | undefined,
        request: IncomingMessage,
        response: ServerResponse,
      ) => Promise<void>,
    ) =>
    async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const given = targetOf(request).query.get('seconds');
      const seconds = given === null ? undefined : Number(given);
      if (seconds !== undefined && !(seconds > 0 && seconds <= MOST_SECONDS)) {
        return sendText(
          response,
          400,
          `"seconds" expected a number above 0 and at most ${MOST_SECONDS}\n`,
        );
      }
      if (busy)
        return sendText(
          response,
          409,
          'a profile is already being recorded: try again when it is done\n',
        );
      busy = true;
      try {
        await take(seconds, request, response);
      } finally {
        busy = false;
      }
    };

  router.handle('/debug/pprof/', (request, response) => {
    const known = targetOf(request).path === '/debug/pprof/';
    sendText(response, known ? 200 : 404, known ? INDEX : '404 page not found\n');
  });
  router.handle(
    '/debug/pprof/profile',
    alone(async (seconds = DEFAULT_SECONDS, _, response) => {
      const profile = await record(response, clock, seconds, stopping(), {
        start: [['Profiler.enable'], ['Profiler.start']],
        stop: 'Profiler.stop',
      });
      send(response, profile, 'cpuprofile');
    }),
  );
  router.handle(
    '/debug/pprof/heap',
    alone(async (seconds, _, response) => {
      if (seconds === undefined) {
        response.writeHead(200, headersOf('heapsnapshot'));
        await pipeline(getHeapSnapshot(), response).catch((error: unknown) => {
          if (!response.destroyed) throw error; // the client has closed the connection
        });
        return;
      }
      const profile = await record(response, clock, seconds, stopping(), {
        start: [['HeapProfiler.startSampling']],
        stop: 'HeapProfiler.stopSampling',
      });
      send(response, profile, 'heapprofile');
    }),
  );
}

interface Recording {
  readonly start: readonly (readonly [
    'Profiler.enable' | 'Profiler.start' | 'HeapProfiler.startSampling',
  ])[];
  readonly stop: 'Profiler.stop' | 'HeapProfiler.stopSampling';
}

/**
 * Records a profile; ends early if the client disconnects or the server is stopped. Returns
 * undefined if the runtime cannot record it, after it has responded so.
 */
async function record(
  response: ServerResponse,
  clock: Clock,
  seconds: number,
  stopping: AbortSignal | undefined,
  { start, stop }: Recording,
): Promise<object | undefined> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  let session: Session | undefined;
  try {
    // Imported on the first request, because not every Node has the inspector.
    session = new (await import('node:inspector/promises')).Session();
    session.connect();
    for (const [method] of start) await session.post(method);
  } catch (error) {
    session?.disconnect();
    response.removeListener('close', leave);
    sendText(
      response,
      501,
      `this runtime cannot record it, or needs a permission: ${textOfError(error)}\n`,
    );
    return undefined;
  }
  try {
    await sleep(
      clock,
      seconds * 1000,
      AbortSignal.any([gone.signal, ...(stopping === undefined ? [] : [stopping])]),
    );
    return stop === 'Profiler.stop'
      ? (await session.post('Profiler.stop')).profile
      : (await session.post('HeapProfiler.stopSampling')).profile;
  } finally {
    session.disconnect();
    response.removeListener('close', leave);
  }
}

function send(response: ServerResponse, profile: object | undefined, extension: string): void {
  if (profile === undefined || response.destroyed) return;
  response.writeHead(200, headersOf(extension));
  response.end(JSON.stringify(profile));
}

function headersOf(extension: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'content-disposition': `attachment; filename="capstan.${extension}"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
}
