/**
 * Loads CEL before a write that may evaluate rules: the write itself runs in one turn of the event
 * loop, and the library is loaded by `import()`.
 */
import { isDefinition } from '../registry/definitions.ts';
import type { Kind } from '../registry/kinds.ts';
import { hasRules } from './evaluate.ts';
import { loadCel } from './library.ts';

/** Built-in kinds with expressions. */
const HAS_EXPRESSIONS = /^(admissionregistration\.k8s\.io|resource\.k8s\.io)\//;

export async function prepareRules(kind: Kind): Promise<void> {
  if (kind.builtIn) {
    if (isDefinition(kind) || HAS_EXPRESSIONS.test(`${kind.group}/${kind.plural}`)) await loadCel();
  } else if (kind.schema !== undefined && hasRules(kind.schema)) await loadCel();
}
