/**
 * The type and resource of CustomResourceDefinitions: apiextensions.k8s.io/v1, as far as they are
 * used here.
 */
import { defineResource, type Resource } from '../../base/resource.ts';
import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../metadata.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  name: string;
  type: 'integer' | 'number' | 'string' | 'boolean' | 'date';
  /** Such as `.spec.replicas`. */
  jsonPath: string;
  description?: string;
  format?: string;
  /** With a value above 0 the column is shown with `-o wide` only. */
  priority?: number;
}

/** The scale subresource, for autoscalers. */
export interface ScaleSubresource {
  /** Such as `.spec.replicas`. */
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

/** One version of a CustomResourceDefinition. */
export interface CRDVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema: { openAPIV3Schema: StructuralSchema };
  subresources?: { status?: Record<string, never>; scale?: ScaleSubresource };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
}

/** The conversion between versions; `None` changes `apiVersion` alone. */
export interface CRDConversion {
  strategy: 'None' | 'Webhook';
  webhook?: { conversionReviewVersions: string[]; clientConfig?: object };
}

/** apiextensions.k8s.io/v1 CustomResourceDefinition. */
export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: ObjectMeta;
  spec: {
    group: string;
    scope: 'Namespaced' | 'Cluster';
    names: {
      plural: string;
      singular: string;
      kind: string;
      listKind: string;
      shortNames?: string[];
      categories?: string[];
    };
    versions: CRDVersion[];
    conversion?: CRDConversion;
    preserveUnknownFields?: boolean;
  };
  status?: {
    conditions?: Condition[];
    acceptedNames?: object;
    storedVersions?: string[];
  };
}

/** The resource of CustomResourceDefinitions. */
export const crdResource: Resource<CustomResourceDefinition> =
  defineResource<CustomResourceDefinition>()({
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
  });
