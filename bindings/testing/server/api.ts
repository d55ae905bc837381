/**
 * Answers one request on the API: routing, which methods a path has, request options. HTTP is the
 * part of serving.ts, which calls this; what is stored is the part of registry/.
 */
import type { Clock } from '../../base/clock.ts';
import { isBuiltInGroup } from '../../base/resource.ts';
import {
  type Answer,
  answer,
  inAcceptedFormat,
  jsonAnswer,
  textAnswer,
  withWarnings,
} from './answers/answer.ts';
import {
  type AnswerShape,
  mediaType,
  patchTypeOf,
  readObject,
  readOptions,
  viewFor,
} from './answers/media-types.ts';
import type { Output } from './answers/output.ts';
import { type View, viewOf } from './answers/views.ts';
import { jsonOfApply, type Sent } from './answers/yaml.ts';
import { Access, type AccessOptions, type Requester } from './auth/access.ts';
import {
  AGGREGATED,
  acceptsAggregated,
  aggregated,
  coreVersions,
  groupDocument,
  groupList,
  health,
  resourceList,
  VERSION_INFO,
  verbsOf,
} from './discovery.ts';
import type { StreamFault } from './faults.ts';
import { FieldTypeError, readFields } from './fields.ts';
import { type JsonObject, stringAt, without } from './json.ts';
import { openApi } from './openapi/answers.ts';
import { Documents } from './openapi/documents.ts';
import { configurationFrom, patchFrom } from './patch/patches.ts';
import type { RequestPath, ResourcePath } from './paths.ts';
import { Freshness } from './reads/freshness.ts';
import { answerList, listContents, parseVersion, selectorsOf } from './reads/list.ts';
import { Watches, type WatchServingOptions } from './reads/watch.ts';
import { BINDING, type Kind, SCALE, SUBRESOURCE_BODIES, TOKEN_REQUEST } from './registry/kinds.ts';
import { normalizeMetadata } from './registry/metadata.ts';
import { Registry } from './registry/registry.ts';
import { metadataOf } from './registry/store.ts';
import { isWholeObject } from './registry/subresources.ts';
import type { Written } from './registry/warnings.ts';
import { deprecationOf } from './registry/warnings.ts';
import { decodeObject, type Incoming, readBody } from './request/body.ts';
import {
  deleteOptions,
  deletionWarnings,
  type FieldValidation,
  type RequestOptions,
  writeOptions,
} from './request/options.ts';
import type { ApiTarget } from './request/request-target.ts';
import {
  checkDocumentMethod,
  checkSubresource,
  checkVerbs,
  isInScope,
} from './request/route-checks.ts';
import { prepareRules } from './rules/prepare.ts';
import { ApiError, badRequest, methodNotAllowed, noSuchPath } from './status.ts';
import { connect, needsKubelet } from './subresources/connect.ts';
import { evict } from './subresources/eviction.ts';
import { applyScale, bind, scaleOf, updateScale } from './subresources/scale-and-binding.ts';
import { tableView } from './tables/table-view.ts';

const HEALTH = ['/healthz', '/livez', '/readyz'];
const NO_PAGE = '404 page not found\n';

/** A request on a resource, after routing. */
interface Call {
  kind: Kind;
  path: ResourcePath;
  method: string;
  query: URLSearchParams;
  request: Incoming;
  output: Output;
  view: View;
  /**
   * The view of a write's result in the form that the Accept header asks for. Called after the
   * write; throws 406.
   */
  written: (shape: AnswerShape) => View;
  /** The user and the check before a write; see auth/access.ts. */
  by: Requester;
}

export interface ApiOptions extends WatchServingOptions, AccessOptions {
  /** See ServingOptions. */
  strict: boolean | undefined;
  /** Whether the Namespaces of a cluster exist from the start, and deleting one takes time. */
  ofCluster: boolean;
  clock: Clock;
  wallTime: () => number;
  historySize: number;
  /** Milliseconds that a request waits for a resourceVersion that does not exist yet. */
  freshnessTimeout: number;
}

export class Api {
  readonly registry: Registry;
  readonly #documents: Documents;
  readonly #watches: Watches;
  readonly #freshness: Freshness;
  readonly #wallTime: () => number;
  readonly #access: Access;

  constructor(options: ApiOptions) {
    this.registry = new Registry(options);
    this.#access = new Access(this.registry, options);
    this.#documents = new Documents(this.registry.kinds);
    this.#wallTime = options.wallTime;
    this.#freshness = new Freshness(
      this.registry.versions,
      options.clock,
      options.freshnessTimeout,
    );
    this.#watches = new Watches(this.registry, this.#freshness, options);
  }

  /**
   * Requires one of these bearer tokens; other requests get 401. undefined: no token is required.
   */
  setTokens(tokens: readonly string[] | undefined): void {
    this.#access.setTokens(tokens);
  }

  /** Returns the answer; undefined when a watch has taken over the response. Throws ApiError. */
  async handle(
    target: ApiTarget,
    request: Incoming,
    output: Output,
    server: { address: string; faults: readonly StreamFault[] },
  ): Promise<Answer | undefined> {
    const { route } = target;
    const kind = route.type === 'resource' ? this.registry.kinds.get(route.resource) : undefined;
    const deprecation = kind === undefined ? [] : deprecationOf(kind);
    try {
      const answer = await this.#handle(target, request, output, server, deprecation);
      if (answer === undefined) return undefined;
      return inAcceptedFormat(request, withWarnings(answer, deprecation));
    } catch (error) {
      if (error instanceof ApiError && !error.isOfRoute)
        error.warnings = [...deprecation, ...error.warnings];
      throw error;
    }
  }

  async #handle(
    target: ApiTarget,
    request: Incoming,
    output: Output,
    server: { address: string; faults: readonly StreamFault[] },
    deprecation: readonly string[],
  ): Promise<Answer | undefined> {
    const { route, method } = target;
    const by = this.#access.admit(target, request.headers);
    if (route.type === 'openapi') {
      const { query } = target;
      const at = this.#wallTime();
      const document = await openApi(this.#documents, route.path, query, request.headers, at);
      return document ?? textAnswer(404, NO_PAGE);
    }
    if (route.type !== 'resource') {
      if (method !== 'GET') checkDocumentMethod(route, this.registry.kinds);
      const verbose = target.query.has('verbose');
      return this.#document(route, server.address, request.headers.accept, verbose);
    }
    const kind = this.registry.kinds.get(route.resource);
    if (!kind.served) {
      if (kind.builtIn) throw noSuchPath();
      return textAnswer(404, NO_PAGE);
    }
    if (!kind.known) {
      // Kubernetes' own groups are complete: a request never adds a resource to them.
      const versions = this.registry.kinds.builtInVersions(kind.group);
      if (versions.includes(kind.version)) throw noSuchPath();
      const teaches = this.registry.learns && (method === 'POST' || method === 'PATCH');
      if (isBuiltInGroup(kind.group) || (this.registry.strict && !teaches))
        return textAnswer(404, NO_PAGE);
    }
    if (!isInScope(kind, route, target.verb)) {
      if (kind.builtIn) throw noSuchPath();
      return textAnswer(404, NO_PAGE);
    }
    if (method !== 'GET') await prepareRules(kind);
    const servedKind = route.subresource === 'scale' ? SCALE : kind;
    const table = (version: string): View =>
      tableView(servedKind, version, target.query.get('includeObject') ?? '', this.#wallTime);
    const wanted = (shape: AnswerShape | undefined): View =>
      viewFor(request.headers.accept, kind, shape, table);
    const view = viewOf(servedKind, wanted(shapeOf(target.verb)));
    if (route.subresource !== '') checkSubresource(kind, route, method);
    else if (kind.verbs !== undefined) checkVerbs(kind, route, method, target.verb);
    if (needsKubelet(route.subresource)) {
      connect(this.registry, route, target.query);
      return { code: 204, type: '', body: '' };
    }
    if (target.verb === 'watch') {
      const how = { view, faults: server.faults, warnings: deprecation };
      await this.#watches.serve(route, target.query, output, how);
      return undefined;
    }
    const call: Call = {
      kind,
      path: route,
      method,
      query: target.query,
      request,
      output,
      view,
      written: wanted,
      by,
    };
    if (route.subresource !== '' && !isWholeObject(route.subresource))
      return this.#subresource(call);
    if (route.name === '') return this.#collection(call);
    // A custom object gets the name in its body.
    if (method === 'POST' && !kind.builtIn)
      return this.#collection({ ...call, path: { ...route, name: '' } });
    return this.#object(call);
  }

  async #collection({
    kind,
    path,
    method,
    query,
    request,
    output,
    view,
    written,
    by,
  }: Call): Promise<Answer> {
    // An object of a namespaced kind is created in one namespace, and a collection deleted in one.
    if (method !== 'GET' && kind.namespaced === true && path.namespace === '')
      throw methodNotAllowed();
    switch (method) {
      case 'GET':
        return jsonAnswer(
          200,
          await this.#freshness.answer(output, () => answerList(this.registry, path, query, view)),
        );
      case 'POST': {
        const options = { ...writeOptions(request, query, 'CreateOptions'), ...by };
        const { object, warnings } = this.#decode(
          kind,
          await readObject(kind, request),
          options.fieldValidation,
        );
        const write = (): Written =>
          kind.verbs === undefined
            ? this.registry.create(path, object, options)
            : this.#createUnstored(kind, path, object, by, options);
        return answer(write, warnings, written);
      }
      case 'DELETE': {
        if (!verbsOf(kind).includes('deletecollection')) throw methodNotAllowed();
        selectorsOf(kind, query);
        const options = deleteOptions(await readOptions(kind, request), query);
        // The real server lists in its own pages, so that it reads exactly at the given
        // resourceVersion, with or without a limit.
        const { items, metadata } = await this.#freshness.answer(output, () =>
          listContents(this.registry, path, query, Number.POSITIVE_INFINITY),
        );
        const write = (): Written => {
          this.registry.deleteCollection(path, items, options);
          return { code: 200, json: viewOf(kind, written('list')).list(kind, items, metadata) };
        };
        return answer(write, deletionWarnings(kind, options));
      }
      case 'PUT':
      case 'PATCH':
        if (kind.builtIn) throw methodNotAllowed();
        if (method === 'PATCH') patchTypeOf(kind, mediaType(request));
        throw badRequest('name must be provided');
      default:
        throw methodNotAllowed();
    }
  }

  async #object({
    kind,
    path,
    method,
    query,
    request,
    output,
    view,
    written,
    by,
  }: Call): Promise<Answer> {
    switch (method) {
      case 'GET':
        return jsonAnswer(
          200,
          view.object(
            await this.#freshness.answer(output, () => this.registry.get(path, versionOf(query))),
          ),
        );
      case 'PUT': {
        const options = { ...writeOptions(request, query, 'UpdateOptions'), ...by };
        const { object, warnings } = this.#decode(
          kind,
          await readObject(kind, request),
          options.fieldValidation,
        );
        return answer(
          () => this.registry.update(path, { body: object }, options),
          warnings,
          written,
        );
      }
      case 'PATCH': {
        const type = patchTypeOf(kind, mediaType(request));
        const options = {
          ...writeOptions(request, query, 'PatchOptions', type === 'apply'),
          ...by,
        };
        const body = await readBody(request);
        if (type === 'apply') {
          const { config, warnings } = configurationFrom(
            await jsonOfApply(body),
            options.fieldValidation,
          );
          // Warnings about the YAML of the body are sent only when the apply succeeds.
          const apply = (): Written => {
            const applied = this.registry.apply(path, config, options);
            return { ...applied, warnings: [...warnings, ...(applied.warnings ?? [])] };
          };
          return answer(apply, [], written);
        }
        const { change, warnings } = patchFrom(
          kind,
          this.registry.kinds,
          type,
          body,
          options.fieldValidation,
        );
        return answer(() => this.registry.update(path, change, options), warnings, written);
      }
      case 'DELETE': {
        const options = deleteOptions(await readOptions(kind, request), query);
        return answer(
          () => this.registry.delete(path, options),
          deletionWarnings(kind, options),
          written,
        );
      }
      default:
        throw methodNotAllowed();
    }
  }

  /** Answers a create that stores nothing: a review, or a Binding. */
  #createUnstored(
    kind: Kind,
    path: ResourcePath,
    object: JsonObject,
    by: Requester,
    options: RequestOptions,
  ): Written {
    const { registry } = this;
    const sent = registry.unstored(kind, path, object, options.manager);
    if (kind.kind !== 'Binding') return this.#access.review(kind, sent, by);
    registry.requireOpen(kind, path, stringAt(metadataOf(sent), 'name'));
    const name = stringAt(metadataOf(sent), 'name');
    const resource = { ...path.resource, plural: 'pods' };
    const pod: ResourcePath = { ...path, resource, name, subresource: 'binding' };
    // This path binds the Pod of that name: the uid and the resourceVersion of the Binding are
    // ignored.
    const binding = { ...sent, metadata: without(metadataOf(sent), 'uid', 'resourceVersion') };
    return bind(registry, registry.kinds.get(resource), pod, binding, options.dryRun);
  }

  async #subresource({ kind, path, method, query, request, output, view }: Call): Promise<Answer> {
    const { registry } = this;
    if (method === 'GET') {
      const stored = await this.#freshness.answer(output, () =>
        registry.get(path, versionOf(query)),
      );
      const scale = scaleOf(kind, stored.object);
      return jsonAnswer(200, view.object({ object: scale, json: JSON.stringify(scale) }));
    }
    const type = method === 'PATCH' ? patchTypeOf(kind, mediaType(request)) : undefined;
    const what =
      method === 'POST' ? 'CreateOptions' : method === 'PUT' ? 'UpdateOptions' : 'PatchOptions';
    const options = writeOptions(
      request,
      query,
      what,
      type === undefined ? undefined : type === 'apply',
    );
    const body =
      type === undefined
        ? await readObject(kind, request)
        : { text: await readBody(request), problems: [] };
    const { text } = body;
    if (type === 'apply') {
      const { config, warnings } = configurationFrom(
        await jsonOfApply(text),
        options.fieldValidation,
      );
      return answer(() => applyScale(registry, kind, path, config, options), warnings);
    }
    if (type !== undefined) {
      const { change, warnings } = patchFrom(
        SCALE,
        registry.kinds,
        type,
        text,
        options.fieldValidation,
      );
      return answer(() => updateScale(registry, kind, path, change, options), warnings);
    }
    if (method === 'PUT') {
      const { object, warnings } = this.#decode(SCALE, body, options.fieldValidation);
      return answer(() => updateScale(registry, kind, path, () => object, options), warnings);
    }
    const sent = SUBRESOURCE_BODIES[path.subresource] as Kind;
    const { object, warnings } = this.#decode(sent, body, options.fieldValidation);
    return answer(() => {
      registry.requireOpen(kind, path, path.name);
      if (sent === TOKEN_REQUEST) return this.#access.tokens.create(path, object, options.manager);
      const placed = registry.unstored(sent, path, object, options.manager);
      return sent === BINDING
        ? bind(registry, kind, path, placed, options.dryRun)
        : evict(registry, path, placed, options.dryRun);
    }, warnings);
  }

  /** Decodes a body. Unknown and duplicate fields become an error or warnings, by `validation`. */
  #decode(
    kind: Kind,
    { text, problems: own }: Sent,
    validation: FieldValidation,
  ): { object: JsonObject; warnings: string[] } {
    const given = decodeObject(kind, this.registry.kinds, text);
    const refuse = (why: string): Error =>
      badRequest(
        `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`,
      );
    try {
      const { object, problems: found } = readFields(kind, given, text);
      const problems = [...own, ...found];
      // Go reports metadata of a wrong type as an error, never as a warning.
      if (kind.builtIn) normalizeMetadata(kind, object.metadata);
      if (validation === 'Strict' && problems.length > 0)
        throw refuse(`strict decoding error: ${problems.join(', ')}`);
      return { object, warnings: validation === 'Warn' ? problems : [] };
    } catch (error) {
      throw error instanceof FieldTypeError ? refuse(error.message) : error;
    }
  }

  #document(
    route: Exclude<RequestPath, ResourcePath>,
    address: string,
    accept: string | undefined,
    verbose: boolean,
  ): Answer {
    const { kinds } = this.registry;
    if ((route.type === 'core-versions' || route.type === 'groups') && acceptsAggregated(accept)) {
      return {
        ...jsonAnswer(200, JSON.stringify(aggregated(kinds, route.type === 'core-versions'))),
        type: AGGREGATED,
      };
    }
    switch (route.type) {
      case 'health': {
        const found = health(route.endpoint, route.check, verbose);
        return found === undefined ? textAnswer(404, NO_PAGE) : textAnswer(200, found);
      }
      case 'version':
        return jsonAnswer(200, JSON.stringify(VERSION_INFO));
      case 'core-versions':
        return jsonAnswer(200, JSON.stringify(coreVersions(address)));
      case 'groups':
        return jsonAnswer(200, JSON.stringify(groupList(kinds)));
      case 'root':
        return jsonAnswer(
          200,
          JSON.stringify({
            paths: [
              '/api',
              '/api/v1',
              '/apis',
              ...HEALTH,
              '/openapi/v2',
              '/openapi/v3',
              '/version',
            ],
          }),
        );
      case 'group':
        return found(kinds, route.group, groupDocument(kinds, route.group));
      case 'resources':
        return found(kinds, route.group, resourceList(kinds, route));
      default:
        return textAnswer(404, NO_PAGE);
    }
  }
}

/** The shape that the client must accept; undefined for verbs that are not checked. */
const shapeOf = (verb: ApiTarget['verb']): AnswerShape | undefined =>
  verb === 'get' ? 'object' : verb === 'list' ? 'list' : undefined;

function found(kinds: Registry['kinds'], group: string, document: object | undefined): Answer {
  if (document !== undefined) return jsonAnswer(200, JSON.stringify(document));
  // Within a group that is served, unknown paths get a Status; Go's mux answers all others.
  if (kinds.builtInVersions(group).length > 0) throw noSuchPath();
  return textAnswer(404, NO_PAGE);
}

const versionOf = (query: URLSearchParams): number =>
  parseVersion(query.get('resourceVersion') ?? '', (why) => new ApiError(500, why));
