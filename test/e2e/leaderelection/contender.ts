/** A candidate's process, with its own proxy to the API server, and its journal. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../../bindings/testing/envtest/program.ts';
import type { ControlPlane } from '../../helpers/control-plane/control-plane.ts';
import type { ElectionLogEntry, ProcessLog } from '../../helpers/leaderelection/judge-election.ts';
import { CuttingProxy } from '../history/cutting-proxy.ts';

const now = (): number => Number(process.hrtime.bigint()) / 1e6;
/** A candidate that ends gracefully releases its lease, which takes two requests. */
const END_MS = 15_000;

export class Contender {
  readonly identity: string;
  readonly proxy: CuttingProxy;
  readonly #program: Program;
  readonly #journal: string;
  readonly #stops: { from: number; to: number }[] = [];
  #killed = false;

  private constructor(identity: string, proxy: CuttingProxy, program: Program, journal: string) {
    this.identity = identity;
    this.proxy = proxy;
    this.#program = program;
    this.#journal = journal;
  }

  /** @param source the program, relative to this file */
  static async start(plane: ControlPlane, identity: string, source: string): Promise<Contender> {
    const proxy = await CuttingProxy.start(Number(new URL(plane.url).port));
    const kubeconfig = join(plane.folder, `kubeconfig-${identity}`);
    const direct = readFileSync(plane.kubeconfig, 'utf8');
    writeFileSync(kubeconfig, direct.replaceAll(plane.url, `https://127.0.0.1:${proxy.port}`), {
      mode: 0o600,
    });
    const journal = join(plane.folder, `journal-${identity}`);
    const path = fileURLToPath(new URL(source, import.meta.url));
    const program = plane.run(identity, process.execPath, [path, kubeconfig, journal, identity]);
    return new Contender(identity, proxy, program, journal);
  }

  entries(): ElectionLogEntry[] {
    if (!existsSync(this.#journal)) return [];
    const text = readFileSync(this.#journal, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1); // a line may be incomplete
    return whole
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as ElectionLogEntry]));
  }

  history(): ProcessLog {
    return {
      identity: this.identity,
      entries: this.entries(),
      stops: this.#stops,
      killed: this.#killed,
    };
  }

  /** The time at which its current term began; undefined: it does not lead. */
  leadsSince(): number | undefined {
    const last = this.entries().findLast(({ kind }) => kind === 'leads' || kind === 'stops');
    return last?.kind === 'leads' ? last.at : undefined;
  }

  /** The number of pieces of work begun in its last term. */
  worked(): number {
    const entries = this.entries();
    const term = entries.findLastIndex(({ kind }) => kind === 'leads');
    return entries.slice(term + 1).filter(({ kind }) => kind === 'begin').length;
  }

  /** The number of its current piece of work. */
  run(): number | undefined {
    const last = this.entries().findLast(({ kind }) => kind === 'begin' || kind === 'end');
    return last?.kind === 'begin' ? last.run : undefined;
  }

  /** Whether it runs. Throws if it exited with a code that is not in `ways`. */
  runs(...ways: readonly number[]): boolean {
    const ended = this.#program.ended();
    if (ended === undefined) return true;
    if (ways.some((way) => ended.endsWith(`(${way})`))) return false;
    throw new Error(`${ended}\n${this.#program.tail()}`);
  }

  /** Stops the process with SIGSTOP until `whenever` has resolved. */
  async freeze(whenever: () => Promise<void>): Promise<void> {
    const stop = { from: now(), to: Number.POSITIVE_INFINITY };
    this.#stops.push(stop);
    this.#program.signal('SIGSTOP');
    try {
      await whenever();
    } finally {
      this.#program.signal('SIGCONT');
      stop.to = now();
    }
  }

  async kill(): Promise<void> {
    this.#killed = true;
    await this.#program.stop('SIGKILL');
    await this.proxy.stop();
  }

  /**
   * Ends it by SIGTERM. Throws unless it exits with 0 or one of `ways`, or was killed by the signal
   * before its journal existed.
   */
  async end(...ways: readonly number[]): Promise<void> {
    const fine: readonly (number | string)[] = existsSync(this.#journal)
      ? [0, ...ways]
      : [0, 'SIGTERM'];
    this.#program.signal('SIGTERM');
    const how = await this.#program.exited(END_MS);
    await this.proxy.stop();
    if (!fine.includes(how))
      throw new Error(`${this.identity} ended with ${how}\n${this.#program.tail()}`);
  }
}
