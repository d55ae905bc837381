/**
 * The names of this process's controllers: metrics and logs know a controller by its name, so two
 * must not share one. controller-runtime: pkg/controller/name.go; there a name is taken for ever,
 * here until its controller has ended.
 */
import { CapstanError } from '../base/errors.ts';

const used = new Set<string>();

/** The function it returns gives the name back; it is to be called once. */
export function claimName(name: string): () => void {
  if (used.has(name)) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `a controller with the name "${name}" exists already: names tell controllers apart in metrics and logs; ` +
        'give this one another name, or switch the check off with "skipNameValidation"',
    );
  }
  used.add(name);
  return () => used.delete(name);
}
