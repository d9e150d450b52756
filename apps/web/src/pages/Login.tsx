// The door: a one-time code from the address's fragment, which no server log ever sees.
import { useEffect, useRef, useState } from "react";
import { client } from "../data";
import { api } from "../http";
import { go } from "../router";
import { connect } from "../socket";
import { Empty, Loading, Trouble } from "../ui/bits";

export function Login() {
  const [error, setError] = useState<unknown>();
  const tried = useRef(false);
  useEffect(() => {
    if (tried.current) return;
    tried.current = true;
    const code = location.hash.slice(1);
    history.replaceState(null, "", "/login");
    if (!code) return setError("none");
    api.login(code).then(() => {
      client.clear();
      connect();
      go("/", "replace");
    }, setError);
  }, []);
  if (error === undefined) return <main className="page"><Loading /></main>;
  return <main className="page">{error !== "none" && <Trouble error={error} />}<SignedOut /></main>;
}

export function SignedOut() {
  return (
    <Empty title="This browser is not signed in">
      <p>Run this on the machine where Holdpoint runs:</p>
      <pre className="command">holdpoint open</pre>
      <p className="quiet">It opens this page with a link that works once. The link is good for one minute.</p>
    </Empty>
  );
}
