/**
 * Controls the embedded API server, which runs on another thread so that server and controller do
 * not block each other. It has the methods of ApiServer for faults, which take effect
 * asynchronously.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Fault } from 'capstan/testing';
import type { Command } from './server-thread.ts';

export class EmbeddedServer {
  readonly url: string;
  readonly #thread: Worker;
  #ids = 0;

  private constructor(url: string, thread: Worker) {
    this.url = url;
    this.#thread = thread;
  }

  static async start(): Promise<EmbeddedServer> {
    const thread = new Worker(new URL('./server-thread.ts', import.meta.url));
    const [url] = (await once(thread, 'message')) as [string];
    return new EmbeddedServer(url, thread);
  }

  inject(fault: Fault): () => void {
    const id = this.#ids++;
    this.#order({ do: 'inject', id, fault });
    return () => this.#order({ do: 'takeBack', id });
  }

  expireHistory(): void {
    this.#order({ do: 'expireHistory' });
  }

  dropConnections(): void {
    this.#order({ do: 'dropConnections' });
  }

  async stop(): Promise<void> {
    const ended = once(this.#thread, 'exit');
    this.#order({ do: 'stop' });
    await ended;
  }

  #order(command: Command): void {
    this.#thread.postMessage(command);
  }
}
