// Places orders with a pool of Node's pg: node orders.js [naive|mended]
//
// The naive form tries again after any error, under a new number, and waits for ever. The mended
// form gives each order its number once, waits for a second, leaves a connection that has failed, and
// goes on trying for as long as a failover takes.
const { randomUUID } = require("crypto");
const { Pool } = require("pg");

const mended = process.argv[2] === "mended";
const patience = mended ? { connectionTimeoutMillis: 1000, query_timeout: 1000 } : {};
const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 2, ...patience });
pool.on("error", (error) => console.error("an idle connection:", error.message));

async function order(client, number, item, pieces) {
  const again = mended ? " ON CONFLICT (number) DO NOTHING" : "";
  await client.query("BEGIN");
  const placed = await client.query("INSERT INTO sale (number, item, pieces) VALUES ($1, $2, $3)" + again, [number, item, pieces]);
  if (placed.rowCount === 1) {
    await client.query("UPDATE item SET stock = stock - $1 WHERE id = $2", [pieces, item]);
  }
  await client.query("COMMIT");
}

async function place(item, pieces) {
  const number = randomUUID();
  for (let attempt = 1; attempt <= (mended ? 200 : 5); attempt++) {
    let client;
    try {
      client = await pool.connect();
      client.on("error", () => {}); // which the query tells, too
      await order(client, mended ? number : randomUUID(), item, pieces);
      client.release();
      return;
    } catch (error) {
      console.error(`attempt ${attempt}: ${error.message}`);
      if (client) client.release(true);
      await new Promise((resolve) => setTimeout(resolve, Math.min(50 * attempt, 500)));
    }
  }
  console.error("the order was not placed");
  process.exit(1);
}

async function main() {
  for (let n = 0; n < 6; n++) await place((n % 3) + 1, n + 1);
  await pool.end();
}

main();
