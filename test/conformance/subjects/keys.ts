/** keys: `namespace/name` keys formatted and parsed. */
import { metaNamespaceKeyFunc, splitMetaNamespaceKey } from 'capstan/cache';
import type { Observed, Step, Subject } from '../runner.ts';
import { text, unknownOp } from './fields.ts';

function replay(step: Step): Observed {
  switch (step.op) {
    case 'split':
      try {
        const { namespace, name } = splitMetaNamespaceKey(text(step, 'key'));
        return { want: { ns: namespace, name } };
      } catch {
        return { want: { error: true } };
      }
    case 'key':
      return {
        want: metaNamespaceKeyFunc({
          metadata: { namespace: text(step, 'ns'), name: text(step, 'name') },
        }),
      };
    default:
      throw unknownOp(step);
  }
}

export const keys: Subject = { observes: ['want'], begin: () => ({ step: replay }) };
