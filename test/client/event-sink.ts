/** The server of the recorders in tests: it keeps every request, and answers as the test says. */
import type { FromServer, StatusError } from 'capstan/cache';
import type { Client, EventSeries, KubeEvent, Patch } from 'capstan/client';

export interface Sent {
  verb: 'create' | 'patch';
  name: string;
  namespace: string;
  series: EventSeries | undefined;
  event: KubeEvent | undefined;
}

export type EventResponder = (sent: Sent) => unknown;

/**
 * Answers success until `answer` is set: a result other than undefined is thrown. A promise is
 * awaited.
 */
export class ScriptedSink {
  readonly sent: Sent[] = [];
  answer: EventResponder = () => undefined;
  readonly client: Pick<Client, 'create' | 'patch'>;

  constructor() {
    const answered = async (sent: Sent): Promise<void> => {
      this.sent.push(sent);
      const error = await this.answer(sent);
      if (error !== undefined) throw error;
    };
    this.client = {
      create: async (_resource, object) => {
        const event = structuredClone(object) as unknown as KubeEvent;
        const { name = '', namespace = '' } = event.metadata;
        await answered({ verb: 'create', name, namespace, series: event.series, event });
        return object as FromServer<typeof object>;
      },
      patch: async <T>(
        _resource: unknown,
        key: { name: string; namespace?: string },
        patch: Patch,
      ) => {
        const { series } = (patch as unknown as { body: { series: EventSeries } }).body;
        await answered({
          verb: 'patch',
          name: key.name,
          namespace: key.namespace ?? '',
          series: structuredClone(series),
          event: undefined,
        });
        return {} as T;
      },
    };
  }

  get verbs(): string[] {
    return this.sent.map(({ verb, series }) =>
      series === undefined ? verb : `${verb} ${series.count}`,
    );
  }
}

export type { StatusError };
