/** `capstan/leaderelection`: client-go's tools/leaderelection on Leases. */
export {};
