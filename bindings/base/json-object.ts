/** JSON objects: told apart from lists and other values, and asked for the members of their own. */

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Not what JavaScript gives every object, such as `constructor`; of null and undefined none. */
export const ownMember = (value: unknown, name: string): unknown =>
  value !== undefined && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
