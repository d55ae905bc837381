/** Typed reads of a step's arguments, with an error for a missing one. */
import type { TraceStep } from '../runner.ts';

function wrong(step: TraceStep, field: string, expected: string): TypeError {
  return new TypeError(
    `${step.op}: "${field}" expected ${expected}, got ${JSON.stringify(step[field])}`,
  );
}

export function textField(step: TraceStep, field: string): string {
  const value = step[field];
  if (typeof value !== 'string') throw wrong(step, field, 'a string');
  return value;
}

export function numberField(step: TraceStep, field: string): number {
  const value = step[field];
  if (typeof value !== 'number') throw wrong(step, field, 'a number');
  return value;
}

export function flagField(step: TraceStep, field: string): boolean {
  const value = step[field];
  if (typeof value !== 'boolean') throw wrong(step, field, 'a boolean');
  return value;
}

export function textsField(step: TraceStep, field: string): string[] {
  const value = step[field];
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw wrong(step, field, 'strings');
  return value;
}

export function unknownOp(step: TraceStep): TypeError {
  return new TypeError(`unknown op ${JSON.stringify(step.op)}`);
}
