/**
 * What client-node's authenticators keep of the current user's credentials: how to make them read
 * anew, and what they let pass that is no credential. client-node has no method for that, so it is
 * done by the names of their fields: where those are not there (another version, an authenticator
 * of the user's own), nothing is done.
 */
import { isDeepStrictEqual } from 'node:util';
import { systemWallNow } from '../clock.ts';
import { isError, show } from '../errors.ts';

/** What is read of a user: beyond the two methods of a KubeConfigLike. */
export interface KubeConfigUser {
  readonly name?: unknown;
  readonly exec?: { readonly command?: unknown } | null;
}

/** ExecAuth: what the plugin answered, for ever where that has no expirationTimestamp. */
interface ExecAuth {
  readonly tokenCache: Record<string, unknown>;
}

/**
 * FileAuth: one token for all users, read again a minute after `lastRead`, and when either is null.
 */
interface FileAuth {
  token: unknown;
  lastRead: unknown;
}

/**
 * Whose token it is that a FileAuth keeps, or whose answer an ExecAuth, whichever transports of the
 * KubeConfig read it.
 */
const owners = new WeakMap<object, KubeConfigUser | undefined>();

export class Kept {
  readonly #user: KubeConfigUser | undefined;
  readonly #exec: ExecAuth | undefined;
  readonly #file: FileAuth | undefined;
  readonly #agents: { clear(): void } | undefined;

  constructor(config: object, user: KubeConfigUser | undefined) {
    this.#user = user;
    const { agentCache } = config as { agentCache?: Partial<Map<unknown, unknown>> };
    if (typeof agentCache?.clear === 'function') this.#agents = agentCache as Map<unknown, unknown>;
    const authenticator = user === undefined ? undefined : authenticatorOf(config, user);
    if (isObject(authenticator?.tokenCache)) this.#exec = authenticator as unknown as ExecAuth;
    if (authenticator !== undefined && 'lastRead' in authenticator)
      this.#file = authenticator as unknown as FileAuth;
  }

  /** Who is asked, for messages. */
  get asked(): string {
    return this.#exec === undefined
      ? 'the KubeConfig'
      : `the exec plugin ${show(this.#user?.exec?.command)}`;
  }

  /** The next reading runs the plugin, or reads the file. */
  forget(): void {
    delete this.#exec?.tokenCache[this.#name];
    if (this.#file !== undefined) this.#file.lastRead = null;
  }

  /**
   * client-node keeps agents by the names of cluster and user: one that was made for others of
   * these names, or before a certificate was renewed, is not used.
   */
  forgetAgents(): void {
    this.#agents?.clear();
  }

  /**
   * What was read for another user is not sent for this one: client-node tells answers of plugins
   * apart by the user's name, and tokens of files not at all.
   */
  forgetOthers(): void {
    const answer = this.#answer();
    if (isObject(answer) && !this.#owns(answer)) this.forget();
    const file = this.#file;
    if (file === undefined) return;
    if (!this.#owns(file)) file.token = null;
    owners.set(file, this.#user);
  }

  #owns(kept: object): boolean {
    return owners.has(kept) && isDeepStrictEqual(owners.get(kept), this.#user);
  }

  /**
   * Has client-node read them. Rejects also for an answer of a plugin that has no credential, and
   * for an empty file, which it would take for none to send.
   *
   * @param goOn told why the file of a token cannot be read: the former token is used. client-go:
   *   transport/token_source.go
   */
  read<T>(apply: () => Promise<T>, goOn: (why: unknown) => void): Promise<T> {
    return this.#file === undefined ? this.#readExec(apply) : readFile(this.#file, apply, goOn);
  }

  async #readExec<T>(apply: () => Promise<T>): Promise<T> {
    const done = await apply().catch((error: unknown) => {
      // null is what an expired answer left.
      const wrong = this.#answer() ? this.#wrong() : this.#silence(error);
      throw wrong === undefined ? error : this.#failure(wrong, error);
    });
    const wrong = this.#wrong();
    if (wrong !== undefined) throw this.#failure(wrong, undefined);
    const answer = this.#answer();
    if (isObject(answer) && !owners.has(answer)) owners.set(answer, this.#user);
    return done;
  }

  /** What is wrong with the answer that is kept. client-go: auth/exec/exec.go refreshCredsLocked */
  #wrong(): string | undefined {
    if (this.#exec === undefined || !Object.hasOwn(this.#exec.tokenCache, this.#name))
      return undefined;
    const answer = this.#answer();
    if (!isObject(answer) || !isObject(answer.status)) return 'answered without "status"';
    const { token, clientCertificateData, clientKeyData } = answer.status;
    if (isText(clientCertificateData) !== isText(clientKeyData))
      return `answered without "status.${isText(clientKeyData) ? 'clientCertificateData' : 'clientKeyData'}"`;
    if (isText(token) || isText(clientKeyData)) return undefined;
    return 'answered without "status.token", and without "status.clientCertificateData" and "status.clientKeyData"';
  }

  /**
   * client-node's error of a plugin that ended with another code than 0 is what that wrote to
   * stderr.
   */
  #silence(error: unknown): string | undefined {
    const silent = this.#exec !== undefined && isError(error) && error.message.trim() === '';
    return silent ? 'failed, and wrote nothing to stderr' : undefined;
  }

  #failure(wrong: string, cause: unknown): Error {
    return new Error(`${this.asked} ${wrong}`, { cause });
  }

  #answer(): unknown {
    return this.#exec?.tokenCache[this.#name];
  }

  get #name(): string {
    return String(this.#user?.name);
  }
}

async function readFile<T>(
  file: FileAuth,
  apply: () => Promise<T>,
  goOn: (why: unknown) => void,
): Promise<T> {
  const former = file.token;
  try {
    const done = await apply();
    if (isText(file.token)) return done;
    throw new Error('the file of the token is empty');
  } catch (error) {
    if (!isText(former)) throw error;
    file.token = former;
    file.lastRead = new Date(systemWallNow());
    const done = await apply();
    goOn(error);
    return done;
  }
}

/** The first that takes the user, as client-node looks for it. */
function authenticatorOf(
  config: object,
  user: KubeConfigUser,
): Record<string, unknown> | undefined {
  const { authenticators, custom_authenticators: custom } = config as Record<string, unknown>;
  const all = [authenticators, custom].flatMap((some): unknown[] =>
    Array.isArray(some) ? some : [],
  );
  try {
    return all
      .filter(isObject)
      .find((one) => typeof one.isAuthProvider === 'function' && one.isAuthProvider(user));
  } catch {
    return undefined; // client-node meets the same, and says so
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
