/** `capstan/apimachinery`: quantities, as objects of the API have them. */
export {
  compareQuantity,
  newMilliQuantity,
  newQuantity,
  parseQuantity,
  type Quantity,
  type QuantityFormat,
  type QuantityLike,
} from './quantity.ts';
