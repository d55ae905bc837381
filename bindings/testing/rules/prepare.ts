/**
 * Before a write CEL is there, where rules may be asked: writes themselves happen in one turn, and
 * the library is loaded by `import()`.
 */
import { isDefinition } from '../registry/definitions.ts';
import type { Kind } from '../registry/kinds.ts';
import { hasRules } from './evaluate.ts';
import { loadCel } from './library.ts';

export async function prepareRules(kind: Kind): Promise<void> {
  if (isDefinition(kind) || (kind.schema !== undefined && hasRules(kind.schema))) await loadCel();
}
