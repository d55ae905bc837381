/** Events about objects with only metadata, as in the recordings of handlers and predicates. */
import type { Change } from 'capstan/cache';
import type { CreateEvent, DeleteEvent, GenericEvent, UpdateEvent } from 'capstan/controller';
import type { TraceStep } from '../runner.ts';
import { textField } from './fields.ts';

export interface MetadataObject {
  readonly metadata: { readonly namespace: string; readonly name: string };
}

export type MetadataEvent =
  | { kind: 'create'; event: CreateEvent<MetadataObject> }
  | { kind: 'update'; event: UpdateEvent<MetadataObject> }
  | { kind: 'delete'; event: DeleteEvent<MetadataObject> }
  | { kind: 'generic'; event: GenericEvent<MetadataObject> };

/** The change of objects that were not compared: anything may have changed. */
const unknown: Change = {
  generation: true,
  labels: true,
  annotations: true,
  spec: true,
  status: true,
  metadata: true,
  deletion: true,
};

export function eventOf(step: TraceStep): MetadataEvent {
  const object = (field: string): MetadataObject => {
    const metadata = step[field];
    if (typeof metadata !== 'object' || metadata === null)
      throw new TypeError(`${step.op}: "${field}" is missing`);
    return { metadata: metadata as MetadataObject['metadata'] };
  };
  const kind = textField(step, 'event');
  switch (kind) {
    case 'create':
      return {
        kind,
        event: { object: object('object'), isInInitialList: step.isInInitialList === true },
      };
    case 'update':
      return {
        kind,
        event: { objectOld: object('old'), objectNew: object('new'), change: unknown },
      };
    case 'delete':
      return { kind, event: { object: object('object'), deleteStateUnknown: false } };
    case 'generic':
      return { kind, event: { object: object('object') } };
    default:
      throw new TypeError(`${step.op}: unknown event ${JSON.stringify(kind)}`);
  }
}
