import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.UUID;

/**
 * Places orders by JDBC with HikariCP on MariaDB: java -cp ... Orders.java [naive|mended]
 *
 * The naive form tries again after any error, under a new number; the driver waits for ever unless
 * it is told otherwise. The mended form gives each order its number once, has the driver wait for a
 * second, leaves a connection that has failed, and goes on trying for as long as a failover takes.
 */
public class Orders {
    static boolean mended;
    static HikariDataSource pool;

    public static void main(String[] words) throws Exception {
        mended = words.length > 0 && words[0].equals("mended");
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(System.getenv("JDBC_DATABASE_URL"));
        config.setUsername(System.getenv("JDBC_DATABASE_USERNAME"));
        config.setPassword(System.getenv("JDBC_DATABASE_PASSWORD"));
        config.setMaximumPoolSize(1);
        config.setAutoCommit(false);
        if (mended) {
            config.addDataSourceProperty("socketTimeout", "1000");
            config.addDataSourceProperty("connectTimeout", "1000");
            config.setConnectionTimeout(3000);
            config.setInitializationFailTimeout(-1);
            // A pool that cannot learn this from its first connection has no other either (HikariCP 2.7).
            config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
        }
        pool = new HikariDataSource(config);
        for (int n = 0; n < 6; n++) {
            place(n % 3 + 1, n + 1);
        }
        pool.close();
    }

    static void place(int item, int pieces) throws Exception {
        String number = UUID.randomUUID().toString();
        for (int attempt = 1; attempt <= (mended ? 200 : 5); attempt++) {
            Connection connection = null;
            try {
                connection = pool.getConnection();
                order(connection, mended ? number : UUID.randomUUID().toString(), item, pieces);
                return;
            } catch (SQLException error) {
                System.err.println("attempt " + attempt + ": " + error.getMessage());
                if (mended && connection != null) {
                    pool.evictConnection(connection);
                }
            } finally {
                if (connection != null) {
                    connection.close();
                }
            }
            Thread.sleep(Math.min(50 * attempt, 500));
        }
        System.err.println("the order was not placed");
        System.exit(1);
    }

    static void order(Connection connection, String number, int item, int pieces) throws SQLException {
        String once = mended ? "IGNORE " : ""; // ON DUPLICATE KEY UPDATE counts the row that was found
        try (PreparedStatement insert = connection.prepareStatement("INSERT " + once + "INTO sale (number, item, pieces) VALUES (?, ?, ?)");
                PreparedStatement update = connection.prepareStatement("UPDATE item SET stock = stock - ? WHERE id = ?")) {
            insert.setString(1, number);
            insert.setInt(2, item);
            insert.setInt(3, pieces);
            boolean placed = insert.executeUpdate() == 1;
            if (placed) {
                update.setInt(1, pieces);
                update.setInt(2, item);
                update.executeUpdate();
            }
            connection.commit();
        }
    }
}
