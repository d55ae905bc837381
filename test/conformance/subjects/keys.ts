/** keys: `namespace/name` keys formatted and parsed. */
import { metaNamespaceKeyFunc, splitMetaNamespaceKey } from 'capstan/cache';
import type { Observed, TraceStep, TraceSubject } from '../runner.ts';
import { textField, unknownOp } from './fields.ts';

function replay(step: TraceStep): Observed {
  switch (step.op) {
    case 'split':
      try {
        const { namespace, name } = splitMetaNamespaceKey(textField(step, 'key'));
        return { want: { ns: namespace, name } };
      } catch {
        return { want: { error: true } };
      }
    case 'key':
      return {
        want: metaNamespaceKeyFunc({
          metadata: { namespace: textField(step, 'ns'), name: textField(step, 'name') },
        }),
      };
    default:
      throw unknownOp(step);
  }
}

export const keys: TraceSubject = { observes: ['want'], begin: () => ({ step: replay }) };
