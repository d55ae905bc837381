/** predicates: whether an event passes. */
import {
  and,
  annotationChangedPredicate,
  generationChangedPredicate,
  labelChangedPredicate,
  labelSelectorPredicate,
  not,
  or,
  type Predicate,
  resourceVersionChangedPredicate,
} from 'capstan/controller';
import type { Observed, TraceStep, TraceSubject } from '../runner.ts';
import { unknownOp } from './fields.ts';
import { eventOf, type MetadataEvent } from './metadata-events.ts';

/** The name of a predicate in a recording. */
export interface PredicateSpec {
  type: string;
  of?: PredicateSpec | PredicateSpec[];
  selector?: object;
}

export function predicateOf({ type, of = [], selector = {} }: PredicateSpec): Predicate<object> {
  const parts = [of].flat().map(predicateOf);
  switch (type) {
    case 'generationChanged':
      return generationChangedPredicate();
    case 'resourceVersionChanged':
      return resourceVersionChangedPredicate();
    case 'labelChanged':
      return labelChangedPredicate();
    case 'annotationChanged':
      return annotationChangedPredicate();
    case 'labelSelector':
      return labelSelectorPredicate(selector);
    case 'and':
      return and(...parts);
    case 'or':
      return or(...parts);
    case 'not':
      return not(parts[0] as Predicate<object>);
    default:
      throw new TypeError(`unknown predicate ${JSON.stringify(type)}`);
  }
}

/** A missing method lets its events pass. */
export function passes(predicate: Predicate<object>, told: MetadataEvent): boolean {
  if (told.kind === 'create') return predicate.create?.(told.event) ?? true;
  if (told.kind === 'update') return predicate.update?.(told.event) ?? true;
  if (told.kind === 'delete') return predicate.delete?.(told.event) ?? true;
  return predicate.generic?.(told.event) ?? true;
}

function replay(step: TraceStep): Observed {
  if (step.op !== 'filter') throw unknownOp(step);
  return { want: passes(predicateOf(step.predicate as PredicateSpec), eventOf(step)) };
}

export const predicates: TraceSubject = { observes: ['want'], begin: () => ({ step: replay }) };
