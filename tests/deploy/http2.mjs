// Ask for one path over HTTP/2; print the status and the headers. Arguments: port, authority's file, name, path.
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const [port, authority, name, path] = process.argv.slice(2);
const session = connect(`https://127.0.0.1:${port}`, { ca: readFileSync(authority), servername: name });
const request = session.request({ ":path": path, ":authority": name });
request.on("response", (headers) => console.log(JSON.stringify(headers)));
request.on("end", () => session.close());
request.resume();
