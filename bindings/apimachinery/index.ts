/** `capstan/apimachinery`: values of the API: quantities, equality, and patches from two states. */
export {
  compareQuantity,
  newMilliQuantity,
  newQuantity,
  parseQuantity,
  type Quantity,
  type QuantityFormat,
  type QuantityLike,
} from './quantity.ts';
export { deepDerivative, type SemanticOptions, semanticEqual } from './semantic-equal.ts';
export { type StrategicPatchBase, strategicMergeFrom } from './strategic-merge-from.ts';
