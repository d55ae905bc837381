/**
 * Logs of Pods by the transport of the manager; commands in Pods, and their ports, by
 * `@kubernetes/client-node` and the same kubeconfig. All end with a signal, and an answer that is
 * cut is an error.
 */
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Exec, type KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';

/** A container of a Pod. */
export interface Target {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** What a command wrote, and how it ended. */
export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/**
 * The last lines of a container's log. client-node's `Log` is not used: when its connection is cut,
 * or it is aborted, a stream that nobody can reach has an error, which ends the process.
 */
export async function lastLines(
  transport: Transport,
  { namespace, pod, container }: Target,
  tailLines: number,
  signal: AbortSignal,
): Promise<string> {
  const { status, body } = await transport.request({
    method: 'GET',
    path: `/api/v1/namespaces/${namespace}/pods/${pod}/log`,
    query: { container, tailLines: `${tailLines}`, limitBytes: '1000000' },
    signal,
  });
  const said = await text(body);
  if (status !== 200) throw new Error(`the log of ${namespace}/${pod}: ${status} ${said}`);
  return said;
}

/** Runs a command to its end. Its output is kept in memory. */
export async function run(
  config: KubeConfig,
  { namespace, pod, container }: Target,
  command: readonly string[],
  signal: AbortSignal,
): Promise<Outcome> {
  signal.throwIfAborted();
  const [out, err] = [new PassThrough(), new PassThrough()] as const;
  const written = Promise.all([text(out), text(err)]);
  const { promise: ended, resolve, reject } = Promise.withResolvers<V1Status>();
  const exec = new Exec(config);
  const begun = exec.exec(
    namespace,
    pod,
    container,
    [...command],
    out,
    err,
    null, // no stdin
    false, // no terminal
    resolve,
  );
  // It rejects with an event of its WebSocket.
  const socket: Socket = await begun.catch(({ message }: { message: string }) => {
    throw new Error(`${command[0]} in ${namespace}/${pod}: ${message}`);
  });
  // Exec says nothing when the connection ends before the command.
  socket.addEventListener('close', () => reject(new Error(`${pod}: the connection was cut`)));
  const stop = (): void => {
    reject(signal.reason);
    socket.close();
  };
  if (signal.aborted) stop(); // while it connected
  signal.addEventListener('abort', stop, { once: true });
  try {
    const status = await ended;
    const [stdout, stderr] = await written;
    return { stdout, stderr, exitCode: exitCodeOf(status) };
  } catch (error) {
    for (const stream of [out, err]) stream.destroy();
    await written.catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface Socket {
  addEventListener(event: 'close', listener: () => void): void;
  close(): void;
}

/** The status of a command that ended by itself has its exit code among its causes. */
function exitCodeOf({ status, message, details }: V1Status): number {
  if (status === 'Success') return 0;
  const cause = details?.causes?.find(({ reason }) => reason === 'ExitCode');
  if (cause === undefined) throw new Error(message ?? 'the command could not be run');
  return Number(cause.message);
}

/** Opens a port of a Pod: what is written to `input` arrives there, and the answer is returned. */
export async function openPort(
  config: KubeConfig,
  { namespace, pod }: Target,
  port: number,
  input: Readable,
): Promise<PassThrough> {
  const output = new PassThrough();
  const forward = new PortForward(config);
  const opened: unknown = await forward.portForward(namespace, pod, [port], output, null, input);
  (opened as Socket).addEventListener('close', () => output.end());
  return output;
}
