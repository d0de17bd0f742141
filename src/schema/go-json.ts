/** Go's encoder escapes what would mean something in HTML or in a script. Most texts have none of it, which is quickly found out. */
export const htmlSafe = (json: string): string =>
  specialCharacters.some((character) => json.includes(character)) ? json.replace(special, escaped) : json;

const specialCharacters = ["<", ">", "&", "\u2028", "\u2029"];
const special = /[<>&\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
