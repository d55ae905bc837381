/** Caches that lag: a transport whose watches deliver nothing while its gate is closed. */
import {
  type FactoryOptions,
  newSharedInformerFactory,
  type Transport,
  TransportError,
  type TransportResponse,
} from 'capstan/cache';
import { type ClientOptions, newClient } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { onTestFinished } from 'vitest';
import { live } from '../helpers/client/clients.ts';

export class WatchGate {
  #open = true;
  /** The number of events that may pass while the gate is closed. */
  #passes = 0;
  #cuts = 0;
  #waiting: (() => void)[] = [];

  /** Closes the gate: watches deliver nothing; lists are answered. */
  shut(): void {
    this.#open = false;
    this.#passes = 0;
  }

  /** Opens the gate: held events are delivered, and later ones too. */
  open(): void {
    this.#open = true;
    this.#wake();
  }

  /** Lets this many events pass. */
  pass(events: number): void {
    this.#passes += events;
    this.#wake();
  }

  /** Discards the held events with their connections; new watches deliver. */
  cut(): void {
    this.#cuts++;
    this.open();
  }

  transport(inner: Transport): Transport {
    return {
      request: async (request) => {
        const response = await inner.request(request);
        return request.query?.watch === 'true'
          ? { ...response, body: this.#held(response), headers: response.headers }
          : response;
      },
      close: async () => inner.close?.(),
    };
  }

  async *#held({ body }: TransportResponse): AsyncGenerator<Uint8Array> {
    for await (const event of linesOf(body)) {
      const cuts = this.#cuts;
      while (!this.#open && this.#passes === 0)
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (cuts !== this.#cuts) throw new TransportError('reset', 'the gate cut the watch');
      if (!this.#open) this.#passes--;
      yield event;
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** One event at a time, however the network cut them. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) yield encoder.encode(`${line}\n`);
  }
  if (text !== '') yield encoder.encode(text);
}

/** A client whose cache reads through a gate, and one of other programs. */
export async function behind(
  options: Partial<ClientOptions> & { factoryOptions?: FactoryOptions } = {},
) {
  const clock = new FakeClock();
  const gate = new WatchGate();
  const { server, client: others, transport, requests } = await live();
  const { factoryOptions = {}, ...rest } = options;
  const factory = newSharedInformerFactory(gate.transport(transport), factoryOptions);
  onTestFinished(async () => {
    gate.open();
    await factory.shutdown();
  });
  const client = newClient({ transport, cache: factory, clock, ...rest });
  return { server, others, client, clock, gate, factory, requests, transport };
}

/** Whether a promise has settled once everything that can run has run. */
export async function settled(clock: FakeClock, promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await clock.settle();
  return done;
}
