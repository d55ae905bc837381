/**
 * Resets the credentials that client-node's authenticators keep for the current user, and finds
 * answers of plugins without a credential. client-node has no methods for that, so this uses the
 * names of its fields. If they are missing (another version, a custom authenticator), nothing is
 * done.
 */

import { isDeepStrictEqual } from 'node:util';
import { systemWallNow } from '../base/clock.ts';
import { isError, show } from '../base/errors.ts';
import { isObjectLike } from '../base/json-value.ts';
import { execInfo, PluginRun, watchRuns, wrongType } from './plugin-run.ts';

/** The members of a user that are read, besides the two methods of KubeConfigLike. */
export interface KubeConfigUser {
  readonly name?: unknown;
  readonly exec?: Exec | null;
  readonly authProvider?: { readonly config?: { readonly exec?: Exec | null } | null } | null;
}

interface Exec {
  readonly command?: unknown;
  readonly apiVersion?: unknown;
  readonly installHint?: unknown;
  readonly provideClusterInfo?: unknown;
}

/** ExecAuth: the plugin's answers. An answer without expirationTimestamp is kept for ever. */
interface ExecAuth {
  readonly tokenCache: Record<string, unknown>;
  execFn?: unknown;
}

/**
 * FileAuth: one token for all users. It is read again a minute after `lastRead`, and if either is
 * null.
 */
interface FileAuth {
  token: unknown;
  lastRead: unknown;
}

/**
 * The user whose token a FileAuth keeps, or whose answer an ExecAuth keeps, over all transports of
 * the KubeConfig.
 */
const owners = new WeakMap<object, KubeConfigUser | undefined>();

export class Kept {
  readonly #user: KubeConfigUser | undefined;
  readonly #exec: ExecAuth | undefined;
  readonly #file: FileAuth | undefined;
  readonly #agents: { clear(): void } | undefined;
  readonly #run: PluginRun;

  constructor(config: object, user: KubeConfigUser | undefined, cluster?: object | null) {
    this.#user = user;
    this.#run = new PluginRun(() => {
      const plugin = this.#plugin ?? {};
      return execInfo(plugin, (plugin.provideClusterInfo && cluster) || undefined);
    });
    const { agentCache } = config as { agentCache?: Partial<Map<unknown, unknown>> };
    if (typeof agentCache?.clear === 'function') this.#agents = agentCache as Map<unknown, unknown>;
    const authenticator = user === undefined ? undefined : authenticatorOf(config, user);
    if (isObjectLike(authenticator?.tokenCache)) this.#exec = authenticator as unknown as ExecAuth;
    if (authenticator !== undefined && 'lastRead' in authenticator)
      this.#file = authenticator as unknown as FileAuth;
  }

  /** The name of the credential's source, for messages. */
  get asked(): string {
    return this.#exec === undefined
      ? 'the KubeConfig'
      : `the exec plugin ${show(this.#plugin?.command)}`;
  }

  /** The plugin's stderr and its install hint, for messages. */
  get said(): string {
    const { installHint } = this.#plugin ?? {};
    const hint = isText(installHint) ? `; its install hint: ${installHint.trim()}` : '';
    return this.#exec === undefined ? '' : `${this.#run.said}${hint}`;
  }

  /** The expiry of the credential that the plugin has just answered, if it is in the past. */
  get expired(): string | undefined {
    const { status } = (this.#answer() ?? {}) as { status?: { expirationTimestamp?: unknown } };
    const time = status?.expirationTimestamp;
    return this.#run.ran && Date.parse(String(time)) <= systemWallNow() ? String(time) : undefined;
  }

  get #plugin(): Exec | undefined {
    return this.#user?.exec ?? this.#user?.authProvider?.config?.exec ?? undefined;
  }

  /** Makes the next read run the plugin, or read the file. */
  forget(): void {
    delete this.#exec?.tokenCache[this.#name];
    if (this.#file !== undefined) this.#file.lastRead = null;
  }

  /**
   * client-node keeps agents by the names of cluster and user. An agent that was made for other
   * contents of these names, or before a certificate was renewed, is not used.
   */
  forgetAgents(): void {
    this.#agents?.clear();
  }

  /**
   * Forgets what was read for another user: client-node matches answers of plugins by the user's
   * name, and tokens of files not at all.
   */
  forgetOthers(): void {
    const answer = this.#answer();
    if (isObjectLike(answer) && !this.#owns(answer)) this.forget();
    const file = this.#file;
    if (file === undefined) return;
    if (!this.#owns(file)) file.token = null;
    owners.set(file, this.#user);
  }

  #owns(kept: object): boolean {
    return owners.has(kept) && isDeepStrictEqual(owners.get(kept), this.#user);
  }

  /**
   * Makes client-node read the credentials. Also rejects for a plugin's answer without a
   * credential, and for an empty token file.
   *
   * @param goOn told why the file of a token cannot be read: the former token is used. client-go:
   *   transport/token_source.go
   */
  read<T>(apply: () => Promise<T>, goOn: (why: unknown) => void): Promise<T> {
    return this.#file === undefined ? this.#readExec(apply) : readFile(this.#file, apply, goOn);
  }

  async #readExec<T>(apply: () => Promise<T>): Promise<T> {
    if (this.#exec !== undefined) watchRuns(this.#exec);
    const done = await this.#run.during(apply).catch((error: unknown) => {
      // An expired answer is null.
      const wrong =
        this.#run.failureOf(error) ?? (this.#answer() ? this.#wrong() : this.#silence(error));
      throw wrong === undefined ? error : this.#failure(wrong);
    });
    const wrong = this.#wrong();
    if (wrong !== undefined) throw this.#failure(wrong);
    const answer = this.#answer();
    if (isObjectLike(answer) && !owners.has(answer)) owners.set(answer, this.#user);
    return done;
  }

  /** The problem of the kept answer. client-go: auth/exec/exec.go refreshCredsLocked */
  #wrong(): string | undefined {
    if (this.#exec === undefined || !Object.hasOwn(this.#exec.tokenCache, this.#name))
      return undefined;
    const answer = this.#answer();
    const type = isObjectLike(answer) ? wrongType(answer, this.#plugin?.apiVersion) : undefined;
    if (type !== undefined) return type;
    if (!isObjectLike(answer) || !isObjectLike(answer.status)) return 'answered without "status"';
    const { token, clientCertificateData, clientKeyData } = answer.status;
    if (isText(clientCertificateData) !== isText(clientKeyData))
      return (
        'answered without ' +
        `"status.${isText(clientKeyData) ? 'clientCertificateData' : 'clientKeyData'}"`
      );
    if (isText(token) || isText(clientKeyData)) return undefined;
    return (
      'answered without "status.token", and without ' +
      '"status.clientCertificateData" and "status.clientKeyData"'
    );
  }

  /** The plugin's exit, if its process could not be watched: an error without a text. */
  #silence(error: unknown): string | undefined {
    const silent = this.#exec !== undefined && isError(error) && error.message.trim() === '';
    return silent ? 'failed' : undefined;
  }

  /** Has no cause, because that may contain the plugin's stdout. */
  #failure(wrong: string): Error {
    return new Error(`${this.asked} ${wrong}${this.said}`);
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

/** The first authenticator that accepts the user, as in client-node. */
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
      .filter(isObjectLike)
      .find((one) => typeof one.isAuthProvider === 'function' && one.isAuthProvider(user));
  } catch {
    return undefined; // client-node meets the same, and says so
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
