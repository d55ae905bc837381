/**
 * What client-node's authenticators keep of the current user's credentials, and how to make them read anew. client-node has no method for
 * that, so it is done by the names of their fields: where those are not there (another version, an authenticator of the user's own), nothing is done.
 */

/** Beyond the two methods of a KubeConfigLike. */
export interface KubeConfigUser {
  readonly name?: unknown;
}

/** ExecAuth: what the plugin answered, for ever where that has no expirationTimestamp. */
interface ExecAuth {
  readonly tokenCache: Record<string, unknown>;
}

/** FileAuth: read again a minute after `lastRead`, and when that is null. */
interface FileAuth {
  token: unknown;
  lastRead: unknown;
}

export class Kept {
  readonly #name: string;
  readonly #exec: ExecAuth | undefined;
  readonly #file: FileAuth | undefined;

  constructor(config: object, user: KubeConfigUser | undefined) {
    this.#name = String(user?.name);
    const authenticator = user === undefined ? undefined : authenticatorOf(config, user);
    if (isObject(authenticator?.tokenCache)) this.#exec = authenticator as unknown as ExecAuth;
    if (authenticator !== undefined && 'lastRead' in authenticator) this.#file = authenticator as unknown as FileAuth;
  }

  /** The next reading runs the plugin, or reads the file. */
  forget(): void {
    delete this.#exec?.tokenCache[this.#name];
    if (this.#file !== undefined) this.#file.lastRead = null;
  }
}

/** The first that takes the user, as client-node looks for it. */
function authenticatorOf(config: object, user: KubeConfigUser): Record<string, unknown> | undefined {
  const { authenticators, custom_authenticators: custom } = config as Record<string, unknown>;
  const all = [authenticators, custom].flatMap((some): unknown[] => (Array.isArray(some) ? some : []));
  try {
    return all.filter(isObject).find((one) => typeof one.isAuthProvider === 'function' && one.isAuthProvider(user));
  } catch {
    return undefined; // client-node meets the same, and says so
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
