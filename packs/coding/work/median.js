// Prints the median of the numbers it is given.
const numbers = process.argv.slice(2).map(Number).sort((a, b) => a - b);
console.log(numbers[Math.floor(numbers.length / 2)]);
