/**
 * Checks parameters of lists and watches that depend on each other, by the rules of apimachinery
 * (pkg/apis/meta/internalversion: validation, defaults), with its messages and in its order.
 */
import { type FieldError, fieldForbidden, fieldNotSupported, invalidOptions } from '../status.ts';

const MATCH = 'resourceVersionMatch';
const NEWER = 'NotOlderThan';
const CONTINUED = 'resourceVersionMatch is forbidden when continue is provided';

/** Throws a 422 for contradicting parameters of a list. */
export function checkListOptions(query: URLSearchParams): void {
  const match = query.get(MATCH) ?? '';
  const version = query.get('resourceVersion') ?? '';
  const errors: FieldError[] = [];
  if (match !== '') {
    if (version === '')
      errors.push(
        fieldForbidden(
          MATCH,
          'resourceVersionMatch is forbidden unless resourceVersion is provided',
        ),
      );
    if (query.get('continue')) errors.push(fieldForbidden(MATCH, CONTINUED));
    if (match !== 'Exact' && match !== NEWER)
      errors.push(fieldNotSupported(MATCH, match, ['Exact', NEWER, '']));
    if (match === 'Exact' && version === '0')
      errors.push(
        fieldForbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      );
  }
  if (query.has('sendInitialEvents'))
    errors.push(fieldForbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  if (errors.length > 0) throw invalidOptions('ListOptions', errors);
}

/**
 * Whether a watch starts with initial events; throws a 422 for contradicting parameters. Without
 * resourceVersion, or with 0, and without sendInitialEvents a watch has initial events and the
 * bookmark that ends them.
 */
export function wantsInitialEvents(query: URLSearchParams): boolean {
  const requested = query.has('sendInitialEvents');
  const given = query.get(MATCH) ?? '';
  const version = query.get('resourceVersion') ?? '';
  const legacy = !requested && given === '' && (version === '' || version === '0');
  const match = legacy ? NEWER : given;
  const errors: FieldError[] = [];
  if (requested && match !== NEWER)
    errors.push(
      fieldForbidden(
        MATCH,
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    );
  if (match !== '') {
    if (!requested && !legacy)
      errors.push(
        fieldForbidden(
          MATCH,
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      );
    if (match !== NEWER) errors.push(fieldNotSupported(MATCH, match, [NEWER]));
    if (query.get('continue')) errors.push(fieldForbidden(MATCH, CONTINUED));
  }
  if (errors.length > 0) throw invalidOptions('ListOptions', errors);
  return legacy || (requested && queryBool(query.get('sendInitialEvents')));
}

/**
 * apimachinery: Convert_Slice_string_To_bool. Everything but `false` and `0` is true, the empty
 * value too.
 */
export function queryBool(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== 'false' && value !== '0';
}
