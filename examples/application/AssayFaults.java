import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/**
 * Faults for a test of your own, such as with JUnit 5. Copy this file beside your tests, and start the proxy:
 *
 *   assay app --db ADDRESS --serve 127.0.0.1:7000 --control 127.0.0.1:7001
 *
 * have the application connect to port 7000 with its own user and password, and write
 *
 *   try (AssayFaults fault = AssayFaults.cutAfterCommit("INSERT INTO sale")) {
 *       placeOrder();
 *   }
 *   assertEquals(1, orders());
 */
public final class AssayFaults implements AutoCloseable {
    private final String at;
    private final String containing;

    private AssayFaults(String at, String containing) {
        this.at = at;
        this.containing = containing;
    }

    /** Does it once before close, which fails if the application did not come to the place. */
    public static AssayFaults fault(String action, String at, String containing, int time) {
        call("PUT", "/fault", String.format("{\"action\": %s, \"at\": %s, \"containing\": %s, \"time\": %d}", quoted(action), quoted(at), quoted(containing), time));
        return new AssayFaults(at, containing);
    }

    public static AssayFaults cutAfterCommit(String containing) {
        return fault("answer-lost", "commit", containing, 1);
    }

    public static AssayFaults cutBeforeCommit(String containing) {
        return fault("reset", "commit", containing, 1);
    }

    /** What has passed so far, as JSON. */
    public static String transactions() {
        return call("GET", "/transactions", "");
    }

    @Override
    public void close() {
        if (!call("DELETE", "/fault", "").contains("\"met\":true")) {
            throw new AssertionError("the application came to no such " + at + ": " + containing + (at.equals("commit") ? "; with autocommit, use at \"statement\"" : ""));
        }
    }

    private static String call(String method, String path, String body) {
        String control = System.getenv().getOrDefault("ASSAY_CONTROL", "http://127.0.0.1:7001");
        HttpRequest request = HttpRequest.newBuilder(URI.create(control + path)).timeout(Duration.ofSeconds(10)).method(method, BodyPublishers.ofString(body)).build();
        try {
            HttpResponse<String> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IllegalArgumentException(answer.body());
            }
            return answer.body();
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException("assay does not answer at " + control, error);
        }
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }
}
